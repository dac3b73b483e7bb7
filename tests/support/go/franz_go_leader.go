// franz-go's assignors, called as its group leader does: members' metadata goes through the client's own bytes. One question a
// line, {"assignor", "request", "runs"}; the answer is {"answers": [{member: {topic: [ids]}}], "seconds"}: each run of the same
// process may give another, for Go goes through maps in random orders. The seconds are those of the balancer in the fastest run.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"sort"
	"time"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type question struct {
	Assignor string
	Runs     int
	Request  struct {
		BalanceRacks bool `json:"balance_racks"`
		Topics       []struct {
			Name  string     `json:"topic_name"`
			Count int32      `json:"partitions_count"`
			Racks [][]string `json:"partition_racks"`
		}
		Members []struct {
			ID         string   `json:"member_id"`
			Instance   *string  `json:"instance_id"`
			Rack       string   `json:"rack_id"`
			Topics     []string `json:"topic_names"`
			Generation *int32   `json:"generation_id"`
			Owned      []struct {
				Topic string  `json:"topic_name"`
				IDs   []int32 `json:"partition_ids"`
			} `json:"owned_partitions"`
		}
	}
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// set writes a field that only the client itself sets, in balanceGroup.
func set(b *kgo.ConsumerBalancer, name string, value any) {
	f := reflect.ValueOf(b).Elem().FieldByName(name)
	reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem().Set(reflect.ValueOf(value))
}

// joined are the members as the leader gets them: joinGroupProtocols adds the rack, sortJoinMembers sorts.
func joined(balancer kgo.GroupBalancer, q question) (members []kmsg.JoinGroupResponseMember, racked bool) {
	for _, m := range q.Request.Members {
		topics, owned, generation := slices.Clone(m.Topics), map[string][]int32{}, int32(-1)
		sort.Strings(topics)
		for _, o := range m.Owned {
			owned[o.Topic] = append(owned[o.Topic], o.IDs...)
		}
		if m.Generation != nil {
			generation = *m.Generation
		}
		raw := balancer.JoinGroupMetadata(topics, owned, generation)
		if m.Rack != "" {
			var meta kmsg.ConsumerMemberMetadata
			if err := meta.ReadFrom(raw); err != nil {
				panic(err)
			}
			meta.Rack, meta.Version, racked = &m.Rack, max(meta.Version, 3), true
			raw = meta.AppendTo(nil)
		}
		j := kmsg.NewJoinGroupResponseMember()
		j.MemberID, j.InstanceID, j.ProtocolMetadata = m.ID, m.Instance, raw
		members = append(members, j)
	}
	sort.Slice(members, func(i, k int) bool {
		l, r := members[i], members[k]
		if l.InstanceID != nil {
			return r.InstanceID == nil || *l.InstanceID < *r.InstanceID
		}
		return r.InstanceID == nil && l.MemberID < r.MemberID
	})
	return
}

func run(q question) (map[string]map[string][]int32, float64) {
	balancer := map[string]kgo.GroupBalancer{"range": kgo.RangeBalancer(), "roundrobin": kgo.RoundRobinBalancer(),
		"sticky": kgo.StickyBalancer(), "cooperative-sticky": kgo.CooperativeStickyBalancer()}[q.Assignor]
	members, racked := joined(balancer, q)
	b, wanted, err := balancer.MemberBalancer(members)
	if err != nil {
		panic(err)
	}
	counts, racks, known := map[string]int32{}, map[string][]string{}, false
	for _, t := range q.Request.Topics {
		if _, ok := wanted[t.Name]; !ok {
			continue
		}
		counts[t.Name] = t.Count
		racks[t.Name] = make([]string, t.Count)
		for p, replicas := range t.Racks {
			if len(replicas) > 0 && int32(p) < t.Count {
				racks[t.Name][p], known = replicas[0], true // the leader is the first
			}
		}
	}
	consumers := b.(*kgo.ConsumerBalancer)
	if racked && known {
		set(consumers, "partitionRacks", racks)
	}
	set(consumers, "balanceRacks", q.Request.BalanceRacks)
	start := time.Now()
	plan := must(consumers.BalanceOrError(counts))
	seconds := time.Since(start).Seconds()
	answer := map[string]map[string][]int32{}
	for _, a := range plan.IntoSyncAssignment() {
		answer[a.MemberID] = must(balancer.ParseSyncAssignment(a.MemberAssignment))
	}
	return answer, seconds
}

func main() {
	in, out := bufio.NewReaderSize(os.Stdin, 1<<20), json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var q question
		if err := json.Unmarshal(line, &q); err != nil {
			panic(err)
		}
		answers, fastest := []any{}, 0.0
		for i := range max(1, q.Runs) {
			answer, seconds := run(q)
			if i == 0 || seconds < fastest {
				fastest = seconds
			}
			answers = append(answers, answer)
		}
		if err := out.Encode(map[string]any{"answers": answers, "seconds": fastest}); err != nil {
			panic(err)
		}
	}
}

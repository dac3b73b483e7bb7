// franz-go's assignors, called as its group leader does: members' metadata goes through the client's own bytes.
package main

import (
	"leaders/leader"
	"reflect"
	"slices"
	"sort"
	"time"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// set writes a field that only the client itself sets, in balanceGroup.
func set(b *kgo.ConsumerBalancer, name string, value any) {
	f := reflect.ValueOf(b).Elem().FieldByName(name)
	reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem().Set(reflect.ValueOf(value))
}

// joined are the members as the leader gets them: joinGroupProtocols adds the rack, sortJoinMembers sorts.
func joined(balancer kgo.GroupBalancer, q leader.Question) (members []kmsg.JoinGroupResponseMember, racked bool) {
	for _, m := range q.Request.Members {
		topics := slices.Sorted(slices.Values(m.Topics))
		raw := balancer.JoinGroupMetadata(topics, m.OwnedByTopic(), m.GenerationOrNone())
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

func run(q leader.Question) (leader.Plan, float64) {
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
	balanced := leader.Must(consumers.BalanceOrError(counts))
	seconds := time.Since(start).Seconds()
	plan := leader.Plan{}
	for _, a := range balanced.IntoSyncAssignment() {
		plan[a.MemberID] = leader.Must(balancer.ParseSyncAssignment(a.MemberAssignment))
	}
	return plan, seconds
}

func main() { leader.Serve(run) }

// Package remotebalancer has a group balancer for franz-go: cooperative-sticky, which takes the advice of a partition-allocator if
// that comes in time and is sound. It is an example; RemoteAssignor in clients/java does more (follow-ups without a request, weights).
//
//	kgo.Balancers(&remotebalancer.Balancer{GroupBalancer: kgo.CooperativeStickyBalancer(), URL: "https://…"}, kgo.CooperativeStickyBalancer())
package remotebalancer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	failures = 3               // after so many in a row
	pause    = 5 * time.Minute // nobody is asked for so long
)

// Balancer asks the service as the leader of a group. The embedded balancer must be kgo.CooperativeStickyBalancer().
type Balancer struct {
	kgo.GroupBalancer
	URL     string        // of the service
	Token   string        // a bearer token of scope groups; empty: none
	Timeout time.Duration // how long a rebalance waits for an answer: at most a tenth of the session time-out; 0: 1 s
	Client  *http.Client  // for TLS; nil: the default one. It must not follow redirects

	mu     sync.Mutex
	failed int
	last   time.Time
}

// ProtocolName is that of the assignors for other clients, so members of one group may use any of them.
func (b *Balancer) ProtocolName() string { return "partition-allocator" }

// MemberBalancer wraps that of cooperative-sticky, whose answer is in hand before the service is asked.
func (b *Balancer) MemberBalancer(members []kmsg.JoinGroupResponseMember) (kgo.GroupMemberBalancer, map[string]struct{}, error) {
	inner, topics, err := b.GroupBalancer.MemberBalancer(members)
	if err != nil {
		return nil, nil, err
	}
	sticky, ok := inner.(*kgo.ConsumerBalancer)
	if !ok {
		return inner, topics, nil
	}
	return &led{sticky, b}, topics, nil
}

// led is one rebalance, as its leader sees it.
type led struct {
	*kgo.ConsumerBalancer
	b *Balancer
}

// BalanceOrError returns the service's assignment, or cooperative-sticky's.
func (l *led) BalanceOrError(topics map[string]int32) (kgo.IntoSyncAssignment, error) {
	local, err := l.ConsumerBalancer.BalanceOrError(topics)
	if err != nil || len(l.Members()) < 2 {
		return local, err
	}
	plan, err := l.advice(topics)
	if err != nil {
		slog.Warn("the group is assigned by cooperative-sticky alone", "reason", err)
		return local, nil
	}
	return plan, nil
}

// Balance is BalanceOrError for callers that know no errors.
func (l *led) Balance(topics map[string]int32) kgo.IntoSyncAssignment {
	plan, err := l.BalanceOrError(topics)
	if err != nil {
		l.SetError(err)
	}
	return plan
}

func (l *led) advice(topics map[string]int32) (*kgo.BalancePlan, error) {
	if !l.b.mayAsk() {
		return nil, errors.New("the last requests failed")
	}
	type result struct {
		plan *kgo.BalancePlan
		err  error
	}
	timeout := l.b.Timeout
	if timeout == 0 {
		timeout = time.Second
	}
	answered := make(chan result, 1)
	go func() {
		plan, err := l.ask(topics, timeout)
		answered <- result{plan, err}
	}()
	var got result
	select {
	case got = <-answered:
	case <-time.After(timeout):
		got.err = fmt.Errorf("no answer within %v", timeout)
	}
	l.b.record(got.err)
	return got.plan, got.err
}

func (l *led) ask(topics map[string]int32, timeout time.Duration) (*kgo.BalancePlan, error) {
	body, err := json.Marshal(l.group(topics))
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequest(http.MethodPost, l.b.URL+"/v1/group-assignments", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if l.b.Token != "" {
		request.Header.Set("Authorization", "Bearer "+l.b.Token)
	}
	client := http.Client{Timeout: timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if l.b.Client != nil {
		client.Transport = l.b.Client.Transport
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", response.StatusCode)
	}
	var answer struct {
		Assignments []struct {
			Member     string            `json:"member_id"`
			Partitions []topicPartitions `json:"partitions"`
		} `json:"assignments"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 64<<20)).Decode(&answer); err != nil {
		return nil, err
	}
	owner := map[string]map[int32]string{}
	for _, each := range answer.Assignments {
		for _, part := range each.Partitions {
			for _, id := range part.IDs {
				if owner[part.Topic] == nil {
					owner[part.Topic] = map[int32]string{}
				}
				if _, twice := owner[part.Topic][id]; twice {
					return nil, fmt.Errorf("%s-%d is assigned twice", part.Topic, id)
				}
				owner[part.Topic][id] = each.Member
			}
		}
	}
	return l.plan(topics, owner)
}

type topicPartitions struct {
	Topic string  `json:"topic_name"`
	IDs   []int32 `json:"partition_ids"`
}

// group is the body of POST /v1/group-assignments.
func (l *led) group(topics map[string]int32) map[string]any {
	rows, members := []any{}, []any{}
	for topic := range l.MemberTopics() {
		if topics[topic] > 0 {
			rows = append(rows, map[string]any{"topic_name": topic, "partitions_count": topics[topic]})
		}
	}
	l.EachMember(func(member *kmsg.JoinGroupResponseMember, meta *kmsg.ConsumerMemberMetadata) {
		owned := []topicPartitions{}
		for _, part := range meta.OwnedPartitions {
			owned = append(owned, topicPartitions{part.Topic, append([]int32{}, part.Partitions...)})
		}
		row := map[string]any{"member_id": member.MemberID, "topic_names": meta.Topics, "owned_partitions": owned}
		if member.InstanceID != nil {
			row["instance_id"] = *member.InstanceID
		}
		members = append(members, row)
	})
	return map[string]any{"group_protocol": "classic", "assignor": "balanced", "topics": rows, "members": members}
}

// plan checks that every partition goes once to a subscriber, and lets owners revoke first (KIP-429).
func (l *led) plan(topics map[string]int32, owner map[string]map[int32]string) (*kgo.BalancePlan, error) {
	plan, left := l.NewPlan(), 0
	for topic := range l.MemberTopics() {
		left += int(topics[topic])
	}
	l.EachMember(func(member *kmsg.JoinGroupResponseMember, meta *kmsg.ConsumerMemberMetadata) {
		for _, topic := range meta.Topics {
			for id := int32(0); id < topics[topic]; id++ {
				if owner[topic][id] == member.MemberID {
					plan.AddPartition(member, topic, id)
					delete(owner[topic], id)
					left--
				}
			}
		}
	})
	for topic, ids := range owner {
		if len(ids) > 0 {
			return nil, fmt.Errorf("partitions of %s go to members that cannot read them", topic)
		}
	}
	if left != 0 {
		return nil, fmt.Errorf("%d partitions are not assigned", left)
	}
	plan.AdjustCooperative(l.ConsumerBalancer)
	return plan, nil
}

func (b *Balancer) mayAsk() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed < failures || time.Since(b.last) > pause
}

func (b *Balancer) record(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed++
	if err == nil {
		b.failed = 0
	}
	b.last = time.Now()
}

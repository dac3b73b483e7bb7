// sarama's strategies, called as its group leader does: what members say goes through the client's own bytes.
package main

import (
	"leaders/leader"
	"slices"
	"time"

	"github.com/IBM/sarama"
)

var strategies = map[string]func() sarama.BalanceStrategy{
	"range": sarama.NewBalanceStrategyRange, "roundrobin": sarama.NewBalanceStrategyRoundRobin,
	"sticky": sarama.NewBalanceStrategySticky, "cooperative-sticky": sarama.NewBalanceStrategyCooperativeSticky,
}

// subscription is what a member sends, as subscriptionMetadata makes it for a broker of 3.2 or later: what the leader sent it
// with its last assignment, as user data, and what it owns.
func subscription(strategy sarama.BalanceStrategy, m leader.Member) *sarama.ConsumerGroupMemberMetadata {
	owned := m.OwnedByTopic()
	for topic := range owned {
		slices.Sort(owned[topic])
	}
	meta := &sarama.ConsumerGroupMemberMetadata{Version: 2, Topics: m.Topics, GenerationID: m.GenerationOrNone()}
	for _, o := range m.Owned {
		if !slices.ContainsFunc(meta.OwnedPartitions, func(sent *sarama.OwnedPartition) bool { return sent.Topic == o.Topic }) {
			meta.OwnedPartitions = append(meta.OwnedPartitions, &sarama.OwnedPartition{Topic: o.Topic, Partitions: owned[o.Topic]})
		}
	}
	if len(owned) > 0 { // syncGroupRequest sends no data to members that are not in the plan
		meta.UserData = leader.Must(strategy.AssignmentData(m.ID, owned, m.GenerationOrNone()))
	}
	if on, ok := strategy.(sarama.OnAssignmentBalanceStrategy); ok {
		on.OnAssignment(&sarama.ConsumerGroupMemberAssignment{Topics: owned}, m.GenerationOrNone())
	}
	if with, ok := strategy.(sarama.SubscriptionUserDataBalanceStrategy); ok {
		meta.UserData = leader.Must(with.SubscriptionUserData(slices.Clone(m.Topics)))
	}
	return meta
}

func run(q leader.Question) (leader.Plan, float64) {
	response, topics := &sarama.JoinGroupResponse{}, map[string][]int32{}
	for _, m := range q.Request.Members {
		strategy, request := strategies[q.Assignor](), &sarama.JoinGroupRequest{}
		if err := request.AddGroupProtocolMetadata(strategy.Name(), subscription(strategy, m)); err != nil {
			panic(err)
		}
		response.Members = append(response.Members, sarama.GroupMember{
			MemberId: m.ID, GroupInstanceId: m.Instance, Metadata: request.OrderedGroupProtocols[0].Metadata,
		})
		for _, topic := range m.Topics {
			topics[topic] = nil
		}
	}
	for _, t := range q.Request.Topics {
		if _, wanted := topics[t.Name]; wanted {
			for id := range t.Count {
				topics[t.Name] = append(topics[t.Name], id)
			}
		}
	}
	members := leader.Must(response.GetMembers())
	start := time.Now()
	plan := leader.Must(strategies[q.Assignor]().Plan(members, topics))
	return leader.Plan(plan), time.Since(start).Seconds()
}

func main() { leader.Serve(run) }

// sarama's strategies before 1.61, called as its group leader did: what members say goes through the client's own bytes. The
// import is that of the release's module.
package main

import (
	"leaders/leader"
	"slices"
	"time"

	"github.com/IBM/sarama"
)

var strategies = map[string]sarama.BalanceStrategy{
	"range": sarama.BalanceStrategyRange, "roundrobin": sarama.BalanceStrategyRoundRobin, "sticky": sarama.BalanceStrategySticky,
}

// joined is what the leader reads of a member: its topics, and as user data what the leader sent it with its last assignment.
func joined(strategy sarama.BalanceStrategy, m leader.Member) sarama.ConsumerGroupMemberMetadata {
	owned := m.OwnedByTopic()
	for topic := range owned {
		slices.Sort(owned[topic])
	}
	meta := &sarama.ConsumerGroupMemberMetadata{Topics: m.Topics}
	if len(owned) > 0 { // syncGroupRequest sends no data to members that are not in the plan
		meta.UserData = leader.Must(strategy.AssignmentData(m.ID, owned, m.GenerationOrNone()))
	}
	request := &sarama.JoinGroupRequest{}
	if err := request.AddGroupProtocolMetadata(strategy.Name(), meta); err != nil {
		panic(err)
	}
	read := &sarama.GroupMemberDescription{MemberMetadata: request.OrderedGroupProtocols[0].Metadata}
	return *leader.Must(read.GetMemberMetadata())
}

func run(q leader.Question) (leader.Plan, float64) {
	strategy := strategies[q.Assignor]
	members, topics := map[string]sarama.ConsumerGroupMemberMetadata{}, map[string][]int32{}
	for _, m := range q.Request.Members {
		members[m.ID] = joined(strategy, m)
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
	start := time.Now()
	plan := leader.Must(strategy.Plan(members, topics))
	return leader.Plan(plan), time.Since(start).Seconds()
}

func main() { leader.Serve(run) }

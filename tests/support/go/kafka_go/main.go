// kafka-go's balancers, called as its group leader does (assignTopicPartitions).
package main

import (
	"leaders/leader"
	"time"

	"github.com/segmentio/kafka-go"
)

func balancer(assignor, rack string) kafka.GroupBalancer {
	return map[string]kafka.GroupBalancer{"range": kafka.RangeGroupBalancer{}, "roundrobin": kafka.RoundRobinGroupBalancer{},
		"rack-affinity": kafka.RackAffinityGroupBalancer{Rack: rack}}[assignor]
}

func run(q leader.Question) (leader.Plan, float64) {
	members, wanted := []kafka.GroupMember{}, map[string]bool{}
	for _, m := range q.Request.Members {
		data := leader.Must(balancer(q.Assignor, m.Rack).UserData())
		members = append(members, kafka.GroupMember{ID: m.ID, Topics: m.Topics, UserData: data})
		for _, topic := range m.Topics {
			wanted[topic] = true
		}
	}
	partitions := []kafka.Partition{}
	for _, t := range q.Request.Topics {
		for id := range int(t.Count) {
			partition := kafka.Partition{Topic: t.Name, ID: id}
			if id < len(t.Racks) && len(t.Racks[id]) > 0 {
				partition.Leader.Rack = t.Racks[id][0] // the leader is the first
			}
			if wanted[t.Name] {
				partitions = append(partitions, partition)
			}
		}
	}
	start := time.Now()
	assigned := balancer(q.Assignor, "").AssignGroups(members, partitions)
	seconds := time.Since(start).Seconds()
	plan := leader.Plan{}
	for member, topics := range assigned {
		plan[member] = map[string][]int32{}
		for topic, ids := range topics {
			for _, id := range ids {
				plan[member][topic] = append(plan[member][topic], int32(id))
			}
		}
	}
	return plan, seconds
}

func main() { leader.Serve(run) }

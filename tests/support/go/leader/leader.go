// Package leader is what the programs share that ask a Go client's assignors as its group leader does. One question a line,
// {"assignor", "request", "runs"}; the answer is {"answers": [{member: {topic: [ids]}}], "seconds"}: each run of the same process
// may give another, for Go goes through maps in random orders. The seconds are those of the assignor in the fastest run. Where
// it panics or returns an error, the answer is {"error": {"message"}}.
package leader

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// Plan is member → topic → ids.
type Plan = map[string]map[string][]int32

// Member is one that joined.
type Member struct {
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

// Question is a group, and the assignor that the leader is to run.
type Question struct {
	Assignor string
	Runs     int
	Request  struct {
		BalanceRacks bool `json:"balance_racks"`
		Topics       []struct {
			Name  string     `json:"topic_name"`
			Count int32      `json:"partitions_count"`
			Racks [][]string `json:"partition_racks"`
		}
		Members []Member
	}
}

// OwnedByTopic is topic → ids, as the member claims them.
func (m Member) OwnedByTopic() map[string][]int32 {
	owned := map[string][]int32{}
	for _, o := range m.Owned {
		owned[o.Topic] = append(owned[o.Topic], o.IDs...)
	}
	return owned
}

// GenerationOrNone is -1 where the member names none.
func (m Member) GenerationOrNone() int32 {
	if m.Generation == nil {
		return -1
	}
	return *m.Generation
}

// Must is x; it panics on an error.
func Must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// Serve answers the questions on standard input.
func Serve(run func(Question) (Plan, float64)) {
	in, out := bufio.NewReaderSize(os.Stdin, 1<<20), json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var q Question
		if err := json.Unmarshal(line, &q); err != nil {
			panic(err)
		}
		if err := out.Encode(answer(q, run)); err != nil {
			panic(err)
		}
	}
}

func answer(q Question, run func(Question) (Plan, float64)) (told map[string]any) {
	defer func() {
		if e := recover(); e != nil {
			told = map[string]any{"error": map[string]any{"message": fmt.Sprint(e)}}
		}
	}()
	answers, fastest := []Plan{}, 0.0
	for i := range max(1, q.Runs) {
		plan, seconds := run(q)
		if i == 0 || seconds < fastest {
			fastest = seconds
		}
		answers = append(answers, plan)
	}
	return map[string]any{"answers": answers, "seconds": fastest}
}

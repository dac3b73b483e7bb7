// Reads questions from standard input, one a line, and answers each with what topicmappr's `rebuild` makes of it.
//
// {"brokers": [{"id": 0, "rack": "a", "leaves": false}], "partitions": [[0, 1, 2]], "force": false}
// → {"seconds": 0.1, "partitions": [[0, 1, 2]]}
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"syscall"

	"github.com/DataDog/kafka-kit/v4/mapper"
)

type question struct {
	Brokers []struct {
		ID     int    `json:"id"`
		Rack   string `json:"rack"`
		Leaves bool   `json:"leaves"`
	} `json:"brokers"`
	Partitions [][]int `json:"partitions"`
	Force      bool    `json:"force"`
}

type answer struct {
	Seconds    float64  `json:"seconds"`
	Partitions [][]int  `json:"partitions"`
	Errors     []string `json:"errors"`
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked question
		if err := json.Unmarshal(line, &asked); err != nil {
			panic(err)
		}
		if err := out.Encode(rebuild(asked)); err != nil {
			panic(err)
		}
	}
}

// rebuild does what the command does with --placement count, its default.
func rebuild(asked question) answer {
	current := mapper.NewPartitionMap()
	for i, replicas := range asked.Partitions {
		current.Partitions = append(current.Partitions, mapper.Partition{Topic: "topic", Partition: i, Replicas: replicas})
	}
	meta, targets := mapper.BrokerMetaMap{}, []int{}
	for _, broker := range asked.Brokers {
		meta[broker.ID] = &mapper.BrokerMeta{Rack: broker.Rack}
		if !broker.Leaves {
			targets = append(targets, broker.ID)
		}
	}
	start := used()
	brokers := mapper.BrokerMapFromPartitionMap(current, meta, asked.Force)
	brokers.Update(targets, meta)
	if asked.Force {
		current = current.Strip()
	}
	params := mapper.NewRebuildParams()
	params.BM, params.Strategy, params.Optimization = brokers, "count", "distribution"
	rebuilt, errs := current.Rebuild(params)
	given := answer{Seconds: used() - start, Errors: []string{}}
	for _, partition := range rebuilt.Partitions {
		given.Partitions = append(given.Partitions, partition.Replicas)
	}
	for _, err := range errs {
		given.Errors = append(given.Errors, err.Error())
	}
	return given
}

// used is the CPU time of this process in seconds.
func used() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	nanoseconds := usage.Utime.Nano() + usage.Stime.Nano()
	return float64(nanoseconds) / 1e9
}

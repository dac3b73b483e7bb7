package remotebalancer

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var topics = map[string]int32{"t": 4}

// members are two of a group, of which the second has just come.
func members(b kgo.GroupBalancer) []kmsg.JoinGroupResponseMember {
	joined := []kmsg.JoinGroupResponseMember{}
	for id, owned := range map[string][]int32{"a": {0, 1, 2, 3}, "b": nil} {
		member := kmsg.NewJoinGroupResponseMember()
		member.MemberID = id
		current := map[string][]int32{}
		if owned != nil {
			current["t"] = owned
		}
		member.ProtocolMetadata = b.JoinGroupMetadata([]string{"t"}, current, 3)
		joined = append(joined, member)
	}
	return joined
}

// balanced is the assignment that the leader sends, member → partitions of t.
func balanced(t *testing.T, b kgo.GroupBalancer) map[string][]int32 {
	t.Helper()
	led, _, err := b.MemberBalancer(members(b))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := led.(kgo.GroupMemberBalancerOrError).BalanceOrError(topics)
	if err != nil {
		t.Fatal(err)
	}
	assigned := map[string][]int32{}
	for _, each := range plan.IntoSyncAssignment() {
		parts, err := b.ParseSyncAssignment(each.MemberAssignment)
		if err != nil {
			t.Fatal(err)
		}
		assigned[each.MemberID] = append([]int32{}, parts["t"]...)
	}
	return assigned
}

func balancer(t *testing.T, answer http.HandlerFunc) *Balancer {
	server := httptest.NewServer(answer)
	t.Cleanup(server.CloseClientConnections)
	return &Balancer{GroupBalancer: kgo.CooperativeStickyBalancer(), URL: server.URL, Timeout: 2 * time.Second}
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(text)) }
}

func TestTheServicesAssignmentIsTakenAndOwnersRevokeFirst(t *testing.T) {
	b := balancer(t, func(w http.ResponseWriter, r *http.Request) {
		var asked map[string]any
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked["assignor"] != "balanced" || len(asked["members"].([]any)) != 2 {
			t.Error("the request is wrong", asked, err)
		}
		says(`{"assignments": [{"member_id": "a", "partitions": [{"topic_name": "t", "partition_ids": [1, 3]}]},
			{"member_id": "b", "partitions": [{"topic_name": "t", "partition_ids": [0, 2]}]}]}`)(w, r)
	})
	if got := balanced(t, b); !reflect.DeepEqual(got, map[string][]int32{"a": {1, 3}, "b": {}}) {
		t.Error(got)
	}
}

func TestWhateverGoesWrongCooperativeStickyAssigns(t *testing.T) {
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	for name, answer := range map[string]http.HandlerFunc{
		"late":     func(http.ResponseWriter, *http.Request) { <-over },
		"503":      func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(503) },
		"redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", 307) },
		"nonsense": says("<html>"),
		"theirs":   says(`{"assignments": [{"member_id": "a", "partitions": [{"topic_name": "u", "partition_ids": [0, 1, 2, 3]}]}]}`),
		"twice": says(`{"assignments": [{"member_id": "a", "partitions": [{"topic_name": "t", "partition_ids": [0, 1, 2, 3]}]},
			{"member_id": "b", "partitions": [{"topic_name": "t", "partition_ids": [0]}]}]}`),
		"too few":  says(`{"assignments": [{"member_id": "a", "partitions": [{"topic_name": "t", "partition_ids": [0, 1]}]}]}`),
		"too many": says(`{"assignments": [{"member_id": "a", "partitions": [{"topic_name": "t", "partition_ids": [0, 1, 2, 3, 4]}]}]}`),
	} {
		t.Run(name, func(t *testing.T) {
			b := balancer(t, answer)
			if name == "late" {
				b.Timeout = 200 * time.Millisecond
			}
			begin := time.Now()
			if got := balanced(t, b); len(got["a"]) != 2 || len(got["b"]) != 0 {
				t.Error(got)
			}
			if b.failed != 1 || time.Since(begin) > 2*time.Second {
				t.Error(b.failed, time.Since(begin))
			}
		})
	}
}

func TestAfterThreeFailuresNobodyIsAsked(t *testing.T) {
	asked := 0
	b := balancer(t, func(w http.ResponseWriter, r *http.Request) { asked++; w.WriteHeader(503) })
	for range 5 {
		balanced(t, b)
	}
	if asked != 3 {
		t.Error(asked)
	}
}

// TestARealService asks the service whose URL is in the environment, if there is one.
func TestARealService(t *testing.T) {
	url := os.Getenv("PARTITION_ALLOCATOR_URL")
	if url == "" {
		t.Skip("PARTITION_ALLOCATOR_URL is not set")
	}
	b := &Balancer{GroupBalancer: kgo.CooperativeStickyBalancer(), URL: url, Timeout: 30 * time.Second}
	if got := balanced(t, b); len(got["a"]) != 2 || len(got["b"]) != 0 || b.failed != 0 {
		t.Error(got, b.failed)
	}
}

// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// judged is a verdict as the tables below write it: name, reason and the limit in
// the document.
func judged(verdicts []Verdict) []string {
	lines := make([]string, 0, len(verdicts))
	for _, v := range verdicts {
		line := v.Bulkhead.Name + " " + v.Reason
		if v.Entry != nil {
			line += fmt.Sprint(" ", v.Entry.Limit)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestJudge(t *testing.T) {
	payments := service("payments")
	tests := map[string]struct {
		bulkheads []ServiceBulkhead
		previous  services
		want      []string
	}{
		"nothing": {want: []string{}},
		"each service is its own": {
			bulkheads: []ServiceBulkhead{bulkhead("search"), bulkhead("payments", limit(0))},
			want:      []string{"payments Accepted 0", "search Accepted 25"},
		},
		"the older of two wins": {
			bulkheads: []ServiceBulkhead{bulkhead("a", payments, younger(time.Second)), bulkhead("b", payments)},
			want:      []string{"b Accepted 25", "a ServiceConflict"},
		},
		"of the same age, the name wins": {
			bulkheads: []ServiceBulkhead{bulkhead("b", payments), bulkhead("a", payments)},
			want:      []string{"a Accepted 25", "b ServiceConflict"},
		},
		"the one in the document wins, however young": {
			bulkheads: []ServiceBulkhead{
				bulkhead("a", payments), bulkhead("b", payments, younger(time.Hour), published, limit(7)),
			},
			previous: services{"payments": entry(25)},
			want:     []string{"b Accepted 7", "a ServiceConflict"},
		},
		"and still after its ConfigMap was deleted": {
			bulkheads: []ServiceBulkhead{
				bulkhead("a", payments), bulkhead("b", payments, younger(time.Hour), published),
			},
			want: []string{"b Accepted 25", "a ServiceConflict"},
		},
		"the one whose values are in the document wins, where no status tells": {
			bulkheads: []ServiceBulkhead{bulkhead("a", payments, limit(7)), bulkhead("b", payments, younger(time.Hour))},
			previous:  services{"payments": entry(25)},
			want:      []string{"b Accepted 25", "a ServiceConflict"},
		},
		"a name may be a service too": {
			bulkheads: []ServiceBulkhead{bulkhead("a", payments), bulkhead("payments")},
			want:      []string{"a Accepted 25", "payments ServiceConflict"},
		},
		"an invalid one has nothing to publish": {
			bulkheads: []ServiceBulkhead{bulkhead("payments", invalid)},
			want:      []string{"payments Invalid"},
		},
		"one that became invalid keeps its entry": {
			bulkheads: []ServiceBulkhead{bulkhead("payments", invalid, published)},
			previous:  services{"payments": entry(3)},
			want:      []string{"payments Invalid 3"},
		},
		"also against a valid rival": {
			bulkheads: []ServiceBulkhead{bulkhead("a", payments), bulkhead("b", payments, invalid, published)},
			previous:  services{"payments": entry(3)},
			want:      []string{"b Invalid 3", "a ServiceConflict"},
		},
		"but not when its entry is gone": {
			bulkheads: []ServiceBulkhead{bulkhead("a", payments), bulkhead("b", payments, invalid, published)},
			want:      []string{"a Accepted 25", "b Invalid"},
		},
		"an invalid one that lost its status keeps the entry of its service": {
			bulkheads: []ServiceBulkhead{bulkhead("payments", invalid)},
			previous:  services{"payments": entry(3)},
			want:      []string{"payments Invalid 3"},
		},
		"but a valid one goes before it": {
			bulkheads: []ServiceBulkhead{bulkhead("a", payments, invalid), bulkhead("b", payments)},
			previous:  services{"payments": entry(3)},
			want:      []string{"b Accepted 25", "a Invalid"},
		},
		"one that is being deleted makes way": {
			bulkheads: []ServiceBulkhead{bulkhead("a", payments, published, deleting), bulkhead("b", payments)},
			previous:  services{"payments": entry(3)},
			want:      []string{"b Accepted 25"},
		},
		"a service that nobody wants any more goes": {
			bulkheads: []ServiceBulkhead{bulkhead("search")},
			previous:  services{"payments": entry(3), "search": entry(3)},
			want:      []string{"search Accepted 25"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := judged(Judge(test.bulkheads, test.previous, roomy)); !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestVerdictMessages(t *testing.T) {
	verdicts := Judge([]ServiceBulkhead{
		bulkhead("a", service("payments")), bulkhead("b", service("payments")), bulkhead("search", invalid, publishedAs(entry(3))),
		bulkhead("watch", invalid, publishedAs(entry(3))),
	}, services{"search": entry(3), "watch": entry(4)}, roomy)
	for i, want := range []string{
		"valid, and service payments is its own",
		"service payments belongs to ServiceBulkhead a in ConfigMap service-bulkheads: delete one of the two",
		"; pods keep the last accepted values",
		"; pods keep what the document holds, which is not what was last accepted (revision " + entry(3).Revision() +
			"): somebody changed it, and the old values are lost",
	} {
		if got := verdicts[i].Message; !strings.HasSuffix(got, want) {
			t.Errorf("got %q, want %q at its end", got, want)
		}
	}
	if got := verdicts[2].Message; !strings.HasPrefix(got, "spec.maxWait: ") {
		t.Errorf("got %q, want the field first", got)
	}
	nothing := Judge([]ServiceBulkhead{bulkhead("search", invalid)}, nil, roomy)
	if got := nothing[0].Message; strings.Contains(got, "pods keep") {
		t.Errorf("got %q where there is nothing to keep", got)
	}
}

// told is everything that verdicts say to people.
func told(verdicts []Verdict) []string {
	lines := judged(verdicts)
	for i, v := range verdicts {
		lines[i] += ": " + v.Message
	}
	return lines
}

// TestO08ShufflesRenderTheSameBytes is case O08: the same objects in 1,000
// different orders give one document and the same verdicts, conflicts, invalid
// objects and objects that do not fit among them.
func TestO08ShufflesRenderTheSameBytes(t *testing.T) {
	previous := services{"kept": entry(3), "held": entry(4)}
	bulkheads := []ServiceBulkhead{
		bulkhead("kept", invalid), bulkhead("held", published, limit(9)), bulkhead("held-too", service("held")),
		bulkhead("wrong", invalid), bulkhead("going", deleting),
	}
	for i := range 12 {
		bulkheads = append(bulkheads, bulkhead(fmt.Sprintf("service-%d", i), limit(int32(i)), younger(time.Duration(i%3)*time.Second)))
		bulkheads = append(bulkheads, bulkhead(fmt.Sprintf("rival-%d", i), service(fmt.Sprintf("service-%d", i))))
	}
	for _, room := range []int{roomy, 2000} {
		verdicts := Judge(bulkheads, previous, room)
		want, wantTold := mustEncode(t, Collect(verdicts)), told(verdicts)
		random := rand.New(rand.NewPCG(1, 2))
		for range 1000 {
			random.Shuffle(len(bulkheads), func(i, j int) { bulkheads[i], bulkheads[j] = bulkheads[j], bulkheads[i] })
			verdicts := Judge(bulkheads, previous, room)
			if got := mustEncode(t, Collect(verdicts)); got != want {
				t.Fatalf("room %d: got\n%s\nwant\n%s", room, got, want)
			}
			if got := told(verdicts); !slices.Equal(got, wantTold) {
				t.Fatalf("room %d: got\n%q\nwant\n%q", room, got, wantTold)
			}
		}
	}
}

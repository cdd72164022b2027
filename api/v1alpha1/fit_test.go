// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// TestDocumentHoldsSoManyBulkheads: what is in stays, the oldest newcomers follow.
func TestDocumentHoldsSoManyBulkheads(t *testing.T) {
	var bulkheads []ServiceBulkhead
	previous := services{"last": entry(25)}
	for i := range bulkheadconfig.MaxServices {
		bulkheads = append(bulkheads, bulkhead(fmt.Sprintf("s%03d", i), younger(time.Duration(i)*time.Second)))
	}
	bulkheads = append(bulkheads, bulkhead("last", younger(time.Hour), published))

	verdicts := Judge(bulkheads, previous, roomy)
	left := slices.DeleteFunc(slices.Clone(verdicts), Verdict.Accepted)
	if got, want := judged(left), []string{"s511 DocumentFull"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !strings.Contains(left[0].Message, "holds 512 bulkheads") {
		t.Errorf("got %q, want the number in it", left[0].Message)
	}
	if n := len(Collect(verdicts)); n != bulkheadconfig.MaxServices {
		t.Errorf("document holds %d, want %d", n, bulkheadconfig.MaxServices)
	}
}

// TestO12DocumentHoldsSoManyBytes is the pure part of case O12.
func TestO12DocumentHoldsSoManyBytes(t *testing.T) {
	two := services{"a": entry(25), "b": entry(25)}
	room := encodedLen(two)
	tests := map[string]struct {
		bulkheads []ServiceBulkhead
		room      int
		want      []string
	}{
		"exactly full": {
			bulkheads: []ServiceBulkhead{bulkhead("a", published), bulkhead("b", published)},
			room:      room, want: []string{"a Accepted 25", "b Accepted 25"},
		},
		"a newcomer stays out": {
			bulkheads: []ServiceBulkhead{bulkhead("0"), bulkhead("a", published), bulkhead("b", published)},
			room:      room, want: []string{"0 DocumentFull", "a Accepted 25", "b Accepted 25"},
		},
		"one that grows keeps its old values": {
			bulkheads: []ServiceBulkhead{bulkhead("a", published, queued, limit(7)), bulkhead("b", published)},
			room:      room, want: []string{"a DocumentFull 25", "b Accepted 25"},
		},
		"unless another shrinks": {
			bulkheads: []ServiceBulkhead{bulkhead("a", published, limit(250)), bulkhead("b", published, limit(5))},
			room:      room, want: []string{"a Accepted 250", "b Accepted 5"},
		},
		"one that leaves makes room": {
			bulkheads: []ServiceBulkhead{bulkhead("a", published), bulkhead("c")},
			room:      room, want: []string{"a Accepted 25", "c Accepted 25"},
		},
		"a short one fits where a long one does not": {
			bulkheads: []ServiceBulkhead{
				bulkhead("a", published), bulkhead("long", queued), bulkhead("z", younger(time.Hour)),
			},
			room: room, want: []string{"a Accepted 25", "long DocumentFull", "z Accepted 25"},
		},
		"an invalid one says what is wrong with it": {
			bulkheads: []ServiceBulkhead{bulkhead("0"), bulkhead("a", published, invalid), bulkhead("b", published)},
			room:      room, want: []string{"0 DocumentFull", "a Invalid 25", "b Accepted 25"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			verdicts := Judge(test.bulkheads, two, test.room)
			if got := judged(verdicts); !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
			if n := len(mustEncode(t, Collect(verdicts))); n > test.room {
				t.Errorf("document has %d bytes, room for %d", n, test.room)
			}
		})
	}
}

// TestDocumentFullTellsTheSize is what a person needs to act on it.
func TestDocumentFullTellsTheSize(t *testing.T) {
	in := services{"a": entry(25)}
	verdicts := Judge([]ServiceBulkhead{bulkhead("a", published), bulkhead("b")}, in, encodedLen(in)+1)
	want := fmt.Sprintf("the document has %d bytes and %d more do not fit into %d",
		encodedLen(in), entryLen("b", entry(25)), encodedLen(in)+1)
	if got := verdicts[1].Message; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q at its start", got, want)
	}
}

// TestLedgerIsExact: the sum of the parts is the length of the whole, which is
// what keeps fit from turning away too many or too few.
func TestLedgerIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.MapOfN(rapid.StringMatching(`[a-z][-a-z0-9]{0,20}[a-z]`), rapid.Custom(drawEntry), 1, 20).Draw(t, "all")
		sum := frameLen()
		for name, s := range all {
			sum += entryLen(name, s)
		}
		if got := encodedLen(all); got != sum {
			t.Fatalf("document has %d bytes, its parts %d", got, sum)
		}
	})
}

// TestFitKeepsWhatIsIn for every document, demand and room.
func TestFitKeepsWhatIsIn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,9}`), 1, 12, rapid.ID[string]).Draw(t, "names")
		previous, bulkheads := services{}, []ServiceBulkhead{}
		for _, name := range names {
			options := []option{limit(rapid.Int32Range(0, 65536).Draw(t, "limit"))}
			if rapid.Bool().Draw(t, "queued") {
				options = append(options, queued)
			}
			if rapid.Bool().Draw(t, "in") {
				previous[name] = entry(rapid.IntRange(0, 65536).Draw(t, "old limit"))
				options = append(options, published)
			}
			bulkheads = append(bulkheads, bulkhead(name, options...))
		}
		room := encodedLen(previous) + rapid.IntRange(0, 1500).Draw(t, "room")
		after := Collect(Judge(bulkheads, previous, room))
		if n := encodedLen(after); n > room {
			t.Fatalf("document has %d bytes, room for %d", n, room)
		}
		for name := range previous {
			if _, ok := after[name]; !ok {
				t.Fatalf("%s was in the document and is not any more", name)
			}
		}
	})
}

func drawEntry(t *rapid.T) bulkheadconfig.Service {
	s := entry(rapid.IntRange(0, 65536).Draw(t, "limit"))
	s.ReclaimAfter = time.Duration(rapid.IntRange(1, 86_400_000).Draw(t, "ms")) * time.Millisecond
	if rapid.Bool().Draw(t, "queue") {
		s.Queue = &bulkheadconfig.Queue{Capacity: rapid.IntRange(1, 65536).Draw(t, "capacity")}
	}
	return s
}

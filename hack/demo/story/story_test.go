// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package story

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// tell returns what a teller writes into a file.
func tell(t *testing.T, story func(*Teller)) string {
	t.Helper()
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	story(NewTeller(file))
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func expectIn(t *testing.T, text string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func TestEveryFailedCheckIsCountedAndShown(t *testing.T) {
	text := tell(t, func(teller *Teller) {
		teller.ExpectAtMost("calls", 25, 25)
		teller.ExpectAtMost("too many calls", 26, 25)
		teller.ExpectAtLeast("sales", 1, 1)
		teller.ExpectAtLeast("no sales", 0, 1)
		teller.ExpectEqual("answer", "no", "no")
		teller.ExpectEqual("other answer", "yes", "no")
		now := time.Now()
		teller.ExpectInForce("limit 10", now, now.Add(ArrivalTimeout-time.Millisecond))
		teller.ExpectInForce("limit 20", now, now.Add(ArrivalTimeout))
		teller.summarize(time.Second)
		if teller.Failed() != 4 {
			t.Errorf("%d failed", teller.Failed())
		}
	})
	expectIn(t, text, "✓ calls: 25", "✗ too many calls: 26, expected at most 25", "4 of 8 checks passed")
}

// An act that cannot go on is the last; a check that failed does not hold up the
// others, but fails the whole.
func TestPlay(t *testing.T) {
	var played []string
	act := func(title string, err error, ok bool) Act[*Teller] {
		return Act[*Teller]{Title: title, Text: "because", Play: func(_ context.Context, teller *Teller) error {
			played = append(played, title)
			teller.Expect(ok, "check of "+title, "good", "seen")
			return err
		}}
	}
	broken := errors.New("broken")
	for _, test := range []struct {
		acts   []Act[*Teller]
		played string
		fails  string
	}{
		{[]Act[*Teller]{act("one", nil, true), act("two", nil, true)}, "one two", ""},
		{[]Act[*Teller]{act("one", nil, false), act("two", nil, true)}, "one two", "1 of 2 checks failed"},
		{[]Act[*Teller]{act("one", broken, false), act("two", nil, true)}, "one", "one: broken"},
	} {
		played = nil
		var err error
		text := tell(t, func(teller *Teller) { err = Play(t.Context(), teller, teller, test.acts) })
		if got := strings.Join(played, " "); got != test.played {
			t.Errorf("played %s, want %s", got, test.played)
		}
		if (err == nil) != (test.fails == "") || err != nil && err.Error() != test.fails {
			t.Errorf("error %v, want %q", err, test.fails)
		}
		expectIn(t, text, "── 1/2  one", "because", "checks passed")
	}
}

func TestAwait(t *testing.T) {
	calls := 0
	err := Await(t.Context(), time.Minute, "a third look", func(context.Context) (bool, error) {
		calls++
		return calls == 3, nil
	})
	if err != nil || calls != 3 {
		t.Errorf("%d looks, %v", calls, err)
	}
	broken := errors.New("broken")
	err = Await(t.Context(), time.Millisecond, "what never comes", func(context.Context) (bool, error) { return false, broken })
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "what never comes: not within 1ms") {
		t.Errorf("error: %v", err)
	}
}

func TestBar(t *testing.T) {
	for want, b := range map[string][3]int{
		"░░░░░│                  ": {10, 0, 0},
		"██░░░│                  ": {10, 3, 0},
		"█████│••                ": {10, 10, 4},
		"█████████│              ": {10, 18, 0}, // the limit was lowered
		"████████████████████│•••": {40, 40, 20},
	} {
		if got := (&Teller{}).Bar(b[0], b[1], b[2]); got != want {
			t.Errorf("%v:\ngot  %q\nwant %q", b, got, want)
		}
	}
}

func TestText(t *testing.T) {
	if got := Words(`{"limit":25,"reclaimAfter":"2s"}`); got != "limit 25, reclaimAfter 2s" {
		t.Errorf("Words = %q", got)
	}
	if got := shellWords([]string{"patch", "-p", `{"a":1}`}); got != `patch -p '{"a":1}'` {
		t.Errorf("shellWords = %q", got)
	}
	if got := strings.Join(Wrap("one two  three\n\tfour", 9), "|"); got != "one two|three|four" {
		t.Errorf("Wrap = %q", got)
	}
	now := time.Now()
	if got := beside(now.Add(12*time.Millisecond), now); got != "12ms after" {
		t.Errorf("beside = %q", got)
	}
	if got := beside(now.Add(-time.Second), now); got != "before" {
		t.Errorf("beside = %q", got)
	}
}

// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package bulkheadconfig

import (
	"maps"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// anyService draws an entry whose values the format can write.
var anyService = rapid.Custom(func(t *rapid.T) Service {
	return Service{
		Limit: rapid.IntRange(0, 1<<31-1).Draw(t, "limit"), MaxWait: ms(0, 1e9).Draw(t, "maxWait"),
		ReclaimAfter: ms(1, 1e9).Draw(t, "reclaimAfter"),
		OnReclaim:    rapid.SampledFrom([]OnReclaim{Cancel, Release}).Draw(t, "onReclaim"),
		Enforcement:  rapid.SampledFrom([]Enforcement{Enforce, Shadow}).Draw(t, "enforcement"),
		DrainTimeout: rapid.Ptr(ms(0, 1e6), true).Draw(t, "drainTimeout"),
		Queue: rapid.Ptr(rapid.Custom(func(t *rapid.T) Queue {
			return Queue{Capacity: rapid.IntRange(1, 1<<31-1).Draw(t, "capacity"), MaxConcurrency: rapid.IntRange(0, 1<<31-1).Draw(t, "max")}
		}), true).Draw(t, "queue"),
	}
})

func ms(least, most int) *rapid.Generator[time.Duration] {
	return rapid.Map(rapid.IntRange(least, most), func(n int) time.Duration { return time.Duration(n) * time.Millisecond })
}

func anyServices(t *rapid.T) map[string]Service {
	return rapid.MapOf(rapid.StringMatching(`[a-z][a-z0-9-]{0,20}`), anyService).Draw(t, "services")
}

func TestDecodeReadsWhatEncodeWrote(t *testing.T) { rapid.Check(t, decodeReadsWhatEncodeWrote) }

// The same, with the inputs that Go's fuzzer finds.
func FuzzDecodeReadsWhatEncodeWrote(f *testing.F) { f.Fuzz(rapid.MakeFuzz(decodeReadsWhatEncodeWrote)) }

func decodeReadsWhatEncodeWrote(t *rapid.T) {
	services := anyServices(t)
	text, err := Encode(services)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if doc.Revision != Revision(services) || !reflect.DeepEqual(doc.Services, services) || len(doc.Unknown) > 0 {
		t.Fatalf("got %+v, want %+v", doc, services)
	}
}

// changes are one for each value of an entry; each gives an entry that differs.
var changes = map[string]func(s *Service){
	"Limit":        func(s *Service) { s.Limit ^= 1 },
	"MaxWait":      func(s *Service) { s.MaxWait += time.Millisecond },
	"ReclaimAfter": func(s *Service) { s.ReclaimAfter += time.Millisecond },
	"OnReclaim":    func(s *Service) { s.OnReclaim = other(s.OnReclaim, Cancel, Release) },
	"Enforcement":  func(s *Service) { s.Enforcement = other(s.Enforcement, Enforce, Shadow) },
	"DrainTimeout": func(s *Service) { s.DrainTimeout = toggle(s.DrainTimeout) },
	"Queue":        func(s *Service) { s.Queue = toggle(s.Queue) },
	"Queue.Capacity": func(s *Service) {
		q := queueOf(s)
		q.Capacity++
		s.Queue = &q
	},
	"Queue.MaxConcurrency": func(s *Service) {
		q := queueOf(s)
		q.MaxConcurrency++
		s.Queue = &q
	},
}

func other[T comparable](is, a, b T) T {
	if is == a {
		return b
	}
	return a
}

func toggle[T any](p *T) *T {
	if p == nil {
		return new(T)
	}
	return nil
}

func queueOf(s *Service) (q Queue) {
	if s.Queue != nil {
		q = *s.Queue
	}
	return q
}

// The revision is equal exactly where the values are: any one change of one value
// changes it, and so does another name.
func TestRevisionIsEqualExactlyWhereTheValuesAre(t *testing.T) {
	for _, of := range []reflect.Type{reflect.TypeFor[Service](), reflect.TypeFor[Queue]()} {
		for field := range of.Fields() {
			if changes[field.Name] == nil && changes["Queue."+field.Name] == nil {
				t.Errorf("nothing changes %s.%s", of.Name(), field.Name)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		services := anyServices(t)
		services["x"] = anyService.Draw(t, "x")
		if Revision(services) != Revision(maps.Clone(services)) {
			t.Fatal("equal values have different revisions")
		}
		for what, change := range changes {
			changed, x := maps.Clone(services), services["x"]
			change(&x)
			changed["x"] = x
			if Revision(changed) == Revision(services) || x.Revision() == services["x"].Revision() {
				t.Fatalf("a change of %s leaves the revision: %+v", what, services["x"])
			}
		}
		renamed := maps.Clone(services)
		delete(renamed, "x")
		renamed["X"] = services["x"]
		if Revision(renamed) == Revision(services) {
			t.Fatal("another name leaves the revision")
		}
	})
}

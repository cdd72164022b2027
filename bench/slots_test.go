// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"testing"
)

// BenchmarkTryRelease takes a free slot and gives it back, with as many
// goroutines as the name says.
func BenchmarkTryRelease(b *testing.B) {
	for _, goroutines := range []int{1, 8} {
		for _, s := range subjects(8) {
			b.Run(fmt.Sprintf("goroutines=%d/impl=%s", goroutines, s.name), func(b *testing.B) {
				b.ReportAllocs()
				spread(b, goroutines, func() { s.cycle() })
			})
		}
	}
}

// BenchmarkOneFree takes the one free slot of many.
func BenchmarkOneFree(b *testing.B) {
	for _, limit := range []int{8, 1024, 16384} {
		for _, s := range subjects(limit) {
			b.Run(fmt.Sprintf("limit=%d/impl=%s", limit, s.name), func(b *testing.B) {
				for range limit - 1 {
					s.hold(b.Context())
				}
				for b.Loop() {
					s.cycle()
				}
			})
		}
	}
}

// BenchmarkRefuse tries while every slot is held.
func BenchmarkRefuse(b *testing.B) {
	for _, limit := range []int{8, 16384} {
		for _, s := range subjects(limit) {
			b.Run(fmt.Sprintf("limit=%d/impl=%s", limit, s.name), func(b *testing.B) {
				b.ReportAllocs()
				for range limit {
					s.hold(b.Context())
				}
				for b.Loop() {
					s.cycle()
				}
			})
		}
	}
}

// BenchmarkHandOver is the time from a release until the waiter that gets the slot
// runs. Two goroutines wake each other in turn, each by releasing the slot that the
// other waits for. Every wait has a bound of its own.
func BenchmarkHandOver(b *testing.B) {
	for i, here := range subjects(1) {
		there := subjects(1)[i]
		b.Run("impl="+here.name, func(b *testing.B) {
			ctx := b.Context()
			wakeMe, wakeOther := here.hold(ctx), there.hold(ctx)
			rounds, done := b.N/2+1, make(chan struct{})
			go func() {
				defer close(done)
				for range rounds {
					wakeOther = there.hold(ctx)
					wakeMe()
				}
			}()
			for range rounds {
				wakeOther()
				wakeMe = here.hold(ctx)
			}
			<-done
			wakeMe() // the next run of this benchmark begins with free slots
			wakeOther()
		})
	}
}

// spread divides b.N runs of work among that many goroutines.
func spread(b *testing.B, goroutines int, work func()) {
	done := make(chan struct{}, goroutines)
	for i := range goroutines {
		share := b.N / goroutines
		if i == 0 {
			share += b.N % goroutines
		}
		go func() {
			for range share {
				work()
			}
			done <- struct{}{}
		}()
	}
	for range goroutines {
		<-done
	}
}

// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// burst is how long the changes that follow a write are gathered before the next:
// of a burst, the first change is written at once and the rest together.
const burst = 100 * time.Millisecond

// pace remembers which ConfigMaps were written a moment ago. The write's own event
// brings every one of them back soon, so none is remembered for long.
type pace struct {
	mu      sync.Mutex
	written map[types.NamespacedName]time.Time
}

func newPace() *pace { return &pace{written: map[types.NamespacedName]time.Time{}} }

// wrote notes a write.
func (p *pace) wrote(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written[key] = time.Now()
}

// wait is how long the next look at the ConfigMap should be put off; zero or less
// means not at all.
func (p *pace) wait(key types.NamespacedName) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, ok := p.written[key]
	if !ok {
		return 0
	}
	wait := burst - time.Since(at)
	if wait <= 0 {
		delete(p.written, key)
	}
	return wait
}

// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package words

// Shop is what the shop says of itself in the end. As the termination message of
// a container it may be 4096 bytes long.
type Shop struct {
	Drain    Drain              `json:"drain"`
	Services map[string]Service `json:"services"`
}

// Drain is agent.Report in numbers.
type Drain struct {
	LameDuckSeconds     float64 `json:"lameDuckSeconds"`
	ProducersSeconds    float64 `json:"producersSeconds"`
	RunningSeconds      float64 `json:"runningSeconds"`
	DependenciesSeconds float64 `json:"dependenciesSeconds"`
	TotalSeconds        float64 `json:"totalSeconds"`
	LetGo               int     `json:"letGo"`
	Finished            int     `json:"finished"`
	Remaining           int     `json:"remaining"`
	Closed              int     `json:"closed"`
}

// Service is what one bulkhead counted from its first call to its last, and what the
// drain did to it.
type Service struct {
	Counts
	LetGo     int `json:"letGo"`
	Finished  int `json:"finished"`
	Remaining int `json:"remaining"`
}

// Counts are calls of one bulkhead since its process began: those of limiter.Counts
// that the demos and the tests look at.
type Counts struct {
	Admitted     uint64 `json:"admitted"`
	Saturated    uint64 `json:"saturated"`
	Draining     uint64 `json:"draining"`
	Cancelled    uint64 `json:"cancelled"`
	Waited       uint64 `json:"waited"`
	Lapsed       uint64 `json:"lapsed"`
	LateReleases uint64 `json:"lateReleases"`
}

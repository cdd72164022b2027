// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package story tells a demo: acts in order, the commands they run and what those
// print, and checks of everything that is claimed.
//
//	acts := []story.Act[*stage]{{Title: "The operator", Text: "It turns …", Play: startOperator}}
//	os.Exit(story.Run(intro, func(ctx context.Context, t *story.Teller) error {
//		return story.Play(ctx, t, &stage{Teller: t}, acts)
//	}))
//
// What is on the stage is the demo's own: the package starts nothing but kubectl.
package story

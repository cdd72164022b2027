// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/load"
	"github.com/servicebulkhead/servicebulkhead/hack/demo/story"
	"github.com/servicebulkhead/servicebulkhead/hack/demo/words"
)

// balance reads how the pods ended, stops the load and compares the two ends' books:
// what the load was answered, and what the pods, old and new, say they did.
func (s *stage) balance(ctx context.Context, gone []*corev1.Pod, start words.Load) error {
	said := map[string]words.Counts{}
	for _, pod := range gone {
		last, err := s.tellEnd(pod)
		if err != nil {
			return err
		}
		said[pod.Name] = last.Services[story.Bulkhead].Counts
	}
	got, err := s.rest(ctx)
	if err != nil {
		return err
	}
	now, err := s.names(ctx, shopApp)
	if err != nil {
		return err
	}
	for _, pod := range now {
		agent, err := s.agent(ctx, pod)
		if err != nil {
			return err
		}
		said[pod] = agent.Bulkhead(story.Bulkhead).Counts
	}
	during := got.Minus(start.Counts)
	s.ExpectAtLeast("restart: sales", during.OK, 100)
	s.ExpectEqual("restart: calls that failed", during.Failed, 0)
	if during.Failed > 0 {
		for _, failure := range got.Failures {
			s.Say("failed at %s after %s, pod %q: %s", failure.At.Format(time.StampMilli), failure.Took, failure.Pod, failure.Error)
		}
	}
	s.compare(said, got.ByPod, append(namesOf(gone), now...))
	return nil
}

func namesOf(pods []*corev1.Pod) (names []string) {
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}

// tellEnd shows and checks how a pod ended.
func (s *stage) tellEnd(pod *corev1.Pod) (last words.Shop, err error) {
	ended := endOf(pod)
	if ended == nil {
		return last, fmt.Errorf("nothing says how pod %s ended", pod.Name)
	}
	if err := json.Unmarshal([]byte(ended.Message), &last); err != nil {
		return last, fmt.Errorf("pod %s ended with the words %q: %w", pod.Name, ended.Message, err)
	}
	grace := time.Duration(*pod.Spec.TerminationGracePeriodSeconds) * time.Second
	d, c := last.Drain, last.Services[story.Bulkhead]
	s.Say("The last words of %s, from its status:", pod.Name)
	s.Output(fmt.Sprintf("lame duck %.2fs, producers stopped %.2fs, running calls %.2fs, dependencies closed %.2fs: %.2fs of %s\n"+
		"drained: %d calls finished, %d let go, %d remaining; from the first to the last: %d admitted, %d shed",
		d.LameDuckSeconds, d.ProducersSeconds, d.RunningSeconds, d.DependenciesSeconds, d.TotalSeconds, grace,
		d.Finished, d.LetGo, d.Remaining, c.Admitted, c.Saturated))
	s.ExpectEqual(pod.Name+" ended with exit code", int(ended.ExitCode), 0)
	s.ExpectEqual(pod.Name+": calls that it left behind", d.Remaining, 0)
	return last, nil
}

// endOf says how the container of a pod ended; nil if nothing does.
func endOf(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	for _, container := range pod.Status.ContainerStatuses {
		if container.State.Terminated != nil {
			return container.State.Terminated
		}
	}
	return nil
}

// rest stops the load, and returns what it saw when the last answer is there.
func (s *stage) rest(ctx context.Context) (r words.Load, err error) {
	if err := s.setRate(ctx, "0"); err != nil {
		return r, err
	}
	return r, story.Await(ctx, 10*time.Second, "the last answers", func(ctx context.Context) (_ bool, err error) {
		r, err = s.report(ctx)
		return r.InFlight == 0, err
	})
}

// compare shows, and checks, that both ends counted the same.
func (s *stage) compare(said map[string]words.Counts, got map[string]load.Counts, pods []string) {
	const heading, format = "  %-24s  %9s  %9s  %16s  %16s", "  %-24s  %9d  %9d  %16d  %16d"
	s.Line(s.Style(story.Faint, fmt.Sprintf(heading, "pod", "admitted", "shed", "load saw served", "load saw shed")))
	var all words.Counts
	var answers load.Counts
	for _, pod := range pods {
		c, o := said[pod], got[pod]
		s.Line(fmt.Sprintf(format, pod, c.Admitted, c.Saturated, o.OK+o.TimedOut, o.Shed))
		all.Admitted += c.Admitted
		all.Saturated += c.Saturated
	}
	for _, o := range got {
		answers = answers.Plus(o)
	}
	s.Line(fmt.Sprintf(format, "all", all.Admitted, all.Saturated, answers.OK+answers.TimedOut, answers.Shed))
	s.ExpectEqual("calls that the pods admitted, and that the load got served", int(all.Admitted), answers.OK+answers.TimedOut)
	s.ExpectEqual("calls that the pods shed, and that the load saw shed", int(all.Saturated), answers.Shed)
}

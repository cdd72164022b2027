// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

const (
	// dataLink is the link in a ConfigMap volume that a kubelet swaps to publish all
	// files at once (k8s.io/kubernetes/pkg/volume/util, AtomicWriter).
	dataLink = "..data"
	// maxFile bounds what is read: more than any ConfigMap can hold.
	maxFile = 4 << 20
)

// errMoved means that the volume was swapped while it was being read.
var errMoved = errors.New("the volume was updated while it was read")

// source follows the document in a directory. Only its follower calls reload.
type source struct {
	dir   string
	poll  time.Duration
	log   *slog.Logger
	apply func(bulkheadconfig.Document)

	// applied is the hash of the text in force. It decides whether something
	// changed: modification times and inodes do not.
	applied [sha256.Size]byte

	mu     sync.Mutex
	status SourceStatus
}

// SourceStatus is how the agent gets on with its directory.
type SourceStatus struct {
	// Revision of the document in force; empty before the first.
	Revision string
	// Applied is when it came into force, LastRead when the directory was last read,
	// LastGoodRead when a good document was, changed or not; zero before the first.
	Applied, LastRead, LastGoodRead time.Time
	// Err is what was wrong with the last read; nil when it was good. The last good
	// document stays in force.
	Err error
	// Reloads counts the documents applied, Failures the reads that went wrong, but
	// for those that found nothing before the first document.
	Reloads, Failures uint64
	// Unknown lists the fields of the document in force that this version ignores.
	Unknown []string
	// Updatable is false when the directory is not a mounted volume with a ..data
	// link: a subPath mount, which a kubelet never updates, or a plain directory.
	Updatable bool
	// Watched says whether the system announces changes, which then are in force at
	// once; else they are found by polling.
	Watched bool
}

// Source reports how the agent gets on with its directory.
func (a *Agent) Source() SourceStatus {
	a.source.mu.Lock()
	defer a.source.mu.Unlock()
	return a.source.status
}

// follow reloads at every hint and at every poll, until the context ends.
func (s *source) follow(ctx context.Context, w *watch) {
	defer w.close()
	ticker := time.NewTicker(s.poll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.hints():
		case <-ticker.C:
		}
		w.renew()
		s.watched(w.alive())
		s.reload()
	}
}

// watched notes whether changes are announced.
func (s *source) watched(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Watched = yes
}

// reload reads the document and puts it in force if it changed. Whatever is wrong
// leaves the last good one in force and is told once.
func (s *source) reload() {
	text, updatable, err := read(s.dir)
	hash := sha256.Sum256(text)
	if err == nil && hash == s.applied {
		s.note(updatable, nil, nil)
		return
	}
	var doc bulkheadconfig.Document
	if err == nil {
		doc, err = bulkheadconfig.Decode(text)
	}
	if err != nil {
		s.note(updatable, nil, err)
		return
	}
	s.apply(doc)
	s.applied = hash
	s.note(updatable, &doc, nil)
}

// note records what a read found and says what is news, without the lock: a log
// handler may ask the agent something.
func (s *source) note(updatable bool, applied *bulkheadconfig.Document, err error) {
	for _, say := range s.record(updatable, applied, err) {
		say()
	}
}

func (s *source) record(updatable bool, applied *bulkheadconfig.Document, err error) (news []func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, now := &s.status, time.Now()
	st.LastRead = now
	if err != nil {
		st.Updatable = st.Updatable || updatable // a volume, also before it holds a document
		return s.recordFailure(err)
	}
	if st.Err != nil && st.Failures > 0 {
		news = append(news, func() { s.log.Info("document is good again", "directory", s.dir) })
	}
	if !updatable && (st.Updatable || st.LastGoodRead.IsZero()) {
		news = append(news, func() {
			s.log.Warn("the directory has no "+dataLink+" link: a subPath mount is never updated; mount the whole volume", "directory", s.dir)
		})
	}
	st.Err, st.LastGoodRead, st.Updatable = nil, now, updatable
	if applied != nil {
		st.Revision, st.Applied, st.Unknown = applied.Revision, now, applied.Unknown
		st.Reloads++
		if len(applied.Unknown) > 0 {
			news = append(news, func() { s.log.Warn("document has fields that this version ignores", "fields", applied.Unknown) })
		}
	}
	return news
}

// recordFailure records a read that went wrong. That there is no document yet is
// normal where an application starts before its bulkheads. s.mu is held.
func (s *source) recordFailure(err error) (news []func()) {
	st := &s.status
	known := st.Err != nil && st.Err.Error() == err.Error()
	st.Err = err
	missing := st.Revision == "" && errors.Is(err, fs.ErrNotExist)
	if !missing {
		st.Failures++
	}
	revision := st.Revision
	switch {
	case known:
		return nil
	case missing:
		return []func(){func() {
			s.log.Info("no document yet: services get what the application's policy for unlisted ones says", "directory", s.dir)
		}}
	default:
		return []func(){func() {
			s.log.Error("document not usable: what is in force stays in force", "directory", s.dir, "revision", revision, "error", err)
		}}
	}
}

// read returns the document's text as of one publication, and whether the
// directory is a volume that a kubelet updates.
func read(dir string) (text []byte, updatable bool, err error) {
	for range 10 {
		text, updatable, err = readOnce(dir)
		if !errors.Is(err, errMoved) {
			break
		}
	}
	return text, updatable, err
}

// readOnce resolves the link, reads behind it and resolves it again. If it moved
// meanwhile, what was read may be gone or a mixture.
func readOnce(dir string) (text []byte, updatable bool, err error) {
	link := filepath.Join(dir, dataLink)
	before, err := os.Readlink(link)
	if err != nil { // no link: a plain directory, or one that is gone
		text, err = readFile(filepath.Join(dir, bulkheadconfig.Key))
		return text, false, err
	}
	behind := before
	if !filepath.IsAbs(behind) {
		behind = filepath.Join(dir, before)
	}
	text, err = readFile(filepath.Join(behind, bulkheadconfig.Key))
	if after, linkErr := os.Readlink(link); linkErr != nil || after != before {
		return nil, true, errMoved
	}
	return text, true, err
}

// readFile reads what is a file: opening a pipe would wait for its writer.
func readFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file: %s", name, info.Mode().Type())
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s: longer than %d bytes", name, maxFile)
	}
	return text, err
}

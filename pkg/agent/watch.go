// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"log/slog"
	"os"

	"github.com/fsnotify/fsnotify"
)

// watch turns file system events into hints that the directory may have changed.
// It is an accelerator only: everything works, more slowly, without it.
type watch struct {
	dir     string
	log     *slog.Logger
	watcher *fsnotify.Watcher
	watched os.FileInfo
	hint    chan struct{}
	warned  bool
}

// newWatch starts to watch the directory; where that is not possible, renew tries
// again.
func newWatch(dir string, log *slog.Logger) *watch {
	w := &watch{dir: dir, log: log, hint: make(chan struct{}, 1)}
	w.renew()
	return w
}

// hints returns a channel that receives after changes; many changes may be one
// hint.
func (w *watch) hints() <-chan struct{} { return w.hint }

// renew makes sure that the directory that is there now is the one watched: it may
// have been made, or made anew, since. A new one may have got the inode of the old;
// then the watcher has lost its watch.
func (w *watch) renew() {
	info, err := os.Stat(w.dir)
	if err == nil && w.alive() && os.SameFile(info, w.watched) {
		return
	}
	w.close()
	if err != nil {
		return // the reader tells what is wrong with the directory
	}
	if err := w.start(); err != nil {
		if !w.warned {
			w.log.Warn("directory cannot be watched: changes are found by polling", "directory", w.dir, "error", err)
		}
		w.warned = true
		return
	}
	w.watched, w.warned = info, false
}

// alive says whether a directory is watched. One that was removed no longer is.
func (w *watch) alive() bool { return w.watcher != nil && len(w.watcher.WatchList()) > 0 }

func (w *watch) start() error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	if err := watcher.Add(w.dir); err != nil {
		_ = watcher.Close()
		return err
	}
	w.watcher = watcher
	go forward(watcher, w.hint)
	return nil
}

// forward turns events, and lost events, into hints until the watcher is closed.
func forward(watcher *fsnotify.Watcher, hint chan<- struct{}) {
	for {
		select {
		case _, ok := <-watcher.Events:
			if !ok {
				return
			}
		case _, ok := <-watcher.Errors:
			if !ok {
				return
			}
		}
		select {
		case hint <- struct{}{}:
		default: // one is pending already, and it is read after this event
		}
	}
}

func (w *watch) close() {
	if w.watcher != nil {
		_ = w.watcher.Close()
		w.watcher = nil
	}
}

// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package story

import (
	"fmt"
	"os"
	"strings"
)

// width is how long a line of prose may be.
const width = 96

// Styles of text on a terminal (ECMA-48, Select Graphic Rendition).
const (
	Bold   = "1"
	Faint  = "2"
	Red    = "31"
	Green  = "32"
	Yellow = "33"
	Cyan   = "36"
)

// Teller tells a story, with colours on a terminal and plainly elsewhere, and
// remembers what was checked.
type Teller struct {
	file     *os.File
	terminal bool
	colours  bool
	checks   []check
}

// NewTeller returns one that writes to a file.
func NewTeller(file *os.File) *Teller {
	info, err := file.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0
	// no-color.org
	return &Teller{file: file, terminal: terminal, colours: terminal && os.Getenv("NO_COLOR") == ""}
}

// Style returns a text in a style, where there are any.
func (t *Teller) Style(code, text string) string {
	if !t.colours || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Line writes a line.
func (t *Teller) Line(text string) { _, _ = fmt.Fprintln(t.file, text) }

func (t *Teller) heading(title string) {
	text := "── " + title + " "
	t.Line("\n" + t.Style(Bold, text+strings.Repeat("─", max(0, width-len([]rune(text))))))
}

// act begins an act: its title, then what is shown and why.
func (t *Teller) act(n, of int, title, text string) {
	t.heading(fmt.Sprintf("%d/%d  %s", n, of, title))
	for _, line := range Wrap(text, width) {
		t.Line(t.Style(Cyan, line))
	}
	t.Line("")
}

// Say adds a remark.
func (t *Teller) Say(format string, args ...any) {
	for _, line := range Wrap(fmt.Sprintf(format, args...), width-2) {
		t.Line("  " + line)
	}
}

// Command echoes a command that is run.
func (t *Teller) Command(text string) { t.Line("  " + t.Style(Bold, "$ "+text)) }

// Output shows what a command or a process printed.
func (t *Teller) Output(text string) {
	for line := range strings.Lines(text) {
		t.Line("    " + t.Style(Faint, strings.TrimRight(line, "\n")))
	}
}

func (t *Teller) showCheck(c check) {
	if c.ok {
		t.Line("  " + t.Style(Green, "✓") + " " + c.what + ": " + c.seen)
		return
	}
	t.Line("  " + t.Style(Red, "✗ "+c.what+": "+c.seen+", expected "+c.expected))
}

// Rewrite replaces the present line of a terminal. Elsewhere it is silent: it would
// fill a file.
func (t *Teller) Rewrite(text string) {
	if t.terminal {
		_, _ = fmt.Fprint(t.file, "\r\x1b[K"+text)
	}
}

func (t *Teller) failure(err error) {
	t.Line(t.Style(Red, "demo: "+err.Error()))
}

// Wrap breaks a text at spaces into lines of at most n characters, where words
// allow it.
func Wrap(text string, n int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > n {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimLeft(line+" "+word, " ")
	}
	return append(lines, line)
}

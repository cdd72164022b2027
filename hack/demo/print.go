// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"
)

// width is how long a line of prose may be.
const width = 96

// Styles of text on a terminal (ECMA-48, Select Graphic Rendition).
const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// printer tells the story: with colours on a terminal, plainly elsewhere.
type printer struct {
	file     *os.File
	terminal bool
	colours  bool
}

func newPrinter(file *os.File) *printer {
	info, err := file.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0
	// no-color.org
	return &printer{file: file, terminal: terminal, colours: terminal && os.Getenv("NO_COLOR") == ""}
}

func (p *printer) style(code, text string) string {
	if !p.colours || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p *printer) line(text string) { _, _ = fmt.Fprintln(p.file, text) }

func (p *printer) heading(title string) {
	text := "── " + title + " "
	p.line("\n" + p.style(bold, text+strings.Repeat("─", max(0, width-len([]rune(text))))))
}

// act begins an act: its title, then what is shown and why.
func (p *printer) act(n, of int, title, text string) {
	p.heading(fmt.Sprintf("%d/%d  %s", n, of, title))
	for _, line := range wrap(text, width) {
		p.line(p.style(cyan, line))
	}
	p.line("")
}

// say adds a remark.
func (p *printer) say(format string, args ...any) {
	for _, line := range wrap(fmt.Sprintf(format, args...), width-2) {
		p.line("  " + line)
	}
}

// command echoes a command that is run.
func (p *printer) command(text string) { p.line("  " + p.style(bold, "$ "+text)) }

// output shows what a command or a process printed.
func (p *printer) output(text string) {
	for line := range strings.Lines(text) {
		p.line("    " + p.style(faint, strings.TrimRight(line, "\n")))
	}
}

func (p *printer) check(c check) {
	if c.ok {
		p.line("  " + p.style(green, "✓") + " " + c.what + ": " + c.seen)
		return
	}
	p.line("  " + p.style(red, "✗ "+c.what+": "+c.seen+", expected "+c.expected))
}

// rewrite replaces the present line of a terminal.
func (p *printer) rewrite(text string) { _, _ = fmt.Fprint(p.file, "\r\x1b[K"+text) }

func (p *printer) failure(err error) {
	p.line(p.style(red, "demo: "+err.Error()))
}

// wrap breaks a text at spaces into lines of at most n characters, where words
// allow it.
func wrap(text string, n int) []string {
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

// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
)

const usage = `usage: images build [-o DIR] [FLAGS] [IMAGE...]
       images push -registry HOST[:PORT][/PATH] [FLAGS] [IMAGE...]

IMAGE is operator, shop, payments or load; all of them if there is none.
`

// errUsage is returned once it has been said what is wrong.
var errUsage = errors.New("usage")

// command is what the command line says.
type command struct {
	verb                string
	dir, registry       string // where to write them, or push them to
	root, tag, platform string
	labels              map[string]string
	programs            []program
}

// parse reads the command line, and says on out what is wrong with its flags.
func parse(args []string, out io.Writer) (command, error) {
	c := command{labels: map[string]string{}}
	if len(args) > 0 {
		c.verb, args = args[0], args[1:]
	}
	flags, err := c.flags(out)
	if err != nil {
		return c, err
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return c, err
	case err != nil:
		return c, errUsage
	}
	c.programs, err = choose(flags.Args())
	return c, err
}

// flags are those of the verb.
func (c *command) flags(out io.Writer) (*flag.FlagSet, error) {
	flags := flag.NewFlagSet("images", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		fmt.Fprint(out, usage)
		flags.PrintDefaults()
	}
	switch c.verb {
	case "build":
		flags.StringVar(&c.dir, "o", filepath.Join("dist", "images"), "the `directory` to write the archives to")
	case "push":
		flags.StringVar(&c.registry, "registry", "", "the `registry` to push to, and perhaps a path there; by plain HTTP on this machine and in private networks")
	default:
		flags.Usage()
		return nil, errUsage
	}
	flags.StringVar(&c.root, "root", ".", "the `directory` of the repository")
	flags.StringVar(&c.tag, "tag", "latest", "the images' `tag`")
	flags.StringVar(&c.platform, "platform", "linux/"+runtime.GOARCH, "the `platform` to build for")
	flags.Func("label", "a further `label` NAME=VALUE: it makes another image of the same program; may be repeated", c.label)
	return flags, nil
}

func (c *command) label(text string) error {
	name, value, found := strings.Cut(text, "=")
	if !found || name == "" {
		return errors.New("must be NAME=VALUE")
	}
	c.labels[name] = value
	return nil
}

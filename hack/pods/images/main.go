// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// image is what one program was made into.
type image struct {
	program program
	image   v1.Image
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

// run is main with everything that it touches passed in.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if c.verb == "push" { // a wrong name is told before a minute's work
		if _, err := reference(c.registry, c.programs[0], c.tag); err != nil {
			return err
		}
	}
	images, err := c.make(ctx)
	if err != nil {
		return err
	}
	if c.verb == "push" {
		return push(ctx, images, c.registry, c.tag, stdout)
	}
	return write(images, c.dir, c.tag, stdout)
}

// make compiles the programs and makes an image of each.
func (c *command) make(ctx context.Context) ([]image, error) {
	platform, err := parsePlatform(c.platform)
	if err != nil {
		return nil, err
	}
	binaries, err := os.MkdirTemp("", "servicebulkhead-images-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(binaries)
	if err := compile(ctx, c.root, c.programs, platform, binaries); err != nil {
		return nil, err
	}
	images := make([]image, len(c.programs))
	for i, p := range c.programs {
		made, err := assemble(p, filepath.Join(binaries, p.binary()), platform, c.labels)
		if err != nil {
			return nil, err
		}
		images[i] = image{p, made}
	}
	return images, nil
}

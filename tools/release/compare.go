package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/karpenter-anew/karpenter/tools/release/program"
)

// compareCommand builds the program of a commit in two folders.
type compareCommand struct {
	Root    string  `required:"" placeholder:"DIR" help:"Repository whose commit HEAD is built. Changes that are not committed do not count."`
	Version Version `required:"" help:"Version to stamp, such as 1.2.3."`
}

// Run prints the checksum of the program, or returns an error if the two builds differ. The folders differ in length, so that a path in the program
// would move what follows. Both use the cache of the Go command: what differs between compilations on two hosts, it does not show.
func (c *compareCommand) Run(ctx context.Context) error {
	parent, err := os.MkdirTemp("", "compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(parent)
	target := program.Platform{OS: runtime.GOOS, Architecture: runtime.GOARCH}
	var built []program.Program
	for _, folder := range []string{"a", filepath.Join("another", "folder", "with", "a", "longer", "path")} {
		dir := filepath.Join(parent, folder)
		// The local path in a remote must not count either.
		clone := exec.CommandContext(ctx, "git", "clone", "--quiet", "--depth=1", "file://"+c.Root, dir)
		if text, err := clone.CombinedOutput(); err != nil {
			return fmt.Errorf("cloning %s: %w\n%s", c.Root, err, text)
		}
		one, err := program.Build(ctx, dir, product, string(c.Version), filepath.Join(parent, fmt.Sprint("built-", len(built))), target)
		if err != nil {
			return err
		}
		built = append(built, one)
	}
	sums := [2][sha256.Size]byte{sha256.Sum256(built[0].Content), sha256.Sum256(built[1].Content)}
	if sums[0] != sums[1] {
		return fmt.Errorf("two builds of commit %s differ%s: %x and %x", built[0].Revision, firstDifference(built[0].Content, built[1].Content), sums[0], sums[1])
	}
	if bytes.Contains(built[0].Content, []byte(parent)) {
		return errors.New("the program contains the path of the folder that it was built in")
	}
	fmt.Printf("%x  %s for %s, commit %s: the same from two folders\n", sums[0], product, target, built[0].Revision)
	return nil
}

// firstDifference says where two programs begin to differ.
func firstDifference(a, b []byte) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf(" from byte %d on", i)
		}
	}
	return fmt.Sprintf(" in length (%d and %d bytes)", len(a), len(b))
}

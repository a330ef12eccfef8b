// Package source describes the commit that a release is built from.
package source

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Home is the address of the repository.
const Home = "https://github.com/karpenter-anew/karpenter"

// Source is a working tree without changes.
type Source struct {
	// Root is the absolute path of the working tree.
	Root string
	// Commit is the full hash, Time when it was committed, in UTC.
	Commit string
	Time   time.Time
}

// Read returns the commit of a working tree, and refuses a tree with changes: what is built from it could not be built again.
func Read(root string) (Source, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return Source{}, err
	}
	s := Source{Root: root}
	changes, err := s.git("status", "--porcelain")
	if err != nil {
		return Source{}, err
	}
	if changes != "" {
		return Source{}, fmt.Errorf("%s has changes that are not committed; commit or remove them, since a release is built from a commit:\n%s", root, changes)
	}
	line, err := s.git("show", "--no-patch", "--format=%H %ct", "HEAD")
	if err != nil {
		return Source{}, err
	}
	var seconds int64
	if _, err := fmt.Sscanf(line, "%s %d", &s.Commit, &seconds); err != nil {
		return Source{}, fmt.Errorf("reading commit %q: %w", line, err)
	}
	s.Time = time.Unix(seconds, 0).UTC()
	return s, nil
}

// Clone copies the commit into a new folder. The copy has neither ignored files nor tags: the Go command records a version that it derives
// from tags, so that a program would change with a tag that is added later.
func (s Source) Clone(folder string) error {
	if _, err := s.git("clone", "--quiet", "--no-tags", "--no-checkout", "--shared", s.Root, folder); err != nil {
		return err
	}
	_, err := Source{Root: folder}.git("checkout", "--quiet", "--detach", s.Commit)
	return err
}

// Files lists the files of a folder that belong to the commit, by their paths below the folder. Ignored files do not belong to it.
func (s Source) Files(folder string) ([]string, error) {
	list, err := s.git("ls-files", "-z", "--", folder)
	if err != nil {
		return nil, err
	}
	var out []string
	for path := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		name, err := filepath.Rel(folder, path)
		if err != nil || path == "" {
			return nil, fmt.Errorf("listing %s: no files in the commit", filepath.Join(s.Root, folder))
		}
		out = append(out, filepath.ToSlash(name))
	}
	slices.Sort(out)
	return out, nil
}

// Content reads a file of the tree.
func (s Source) Content(path ...string) ([]byte, error) {
	return os.ReadFile(filepath.Join(append([]string{s.Root}, path...)...))
}

// git runs a command of git in the tree and returns what it prints.
func (s Source) git(args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-C", s.Root}, args...)...)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return "", fmt.Errorf("git %s: %w: %s", args[0], err, exit.Stderr)
		}
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

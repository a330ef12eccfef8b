package launch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/karpenter-anew/karpenter/local/binaries"
)

func registryOf(cache binaries.Cache) registry {
	return registry{dir: filepath.Join(cache.Root, "clusters")}
}

// Sweep removes every cluster whose launcher is dead and says so on log.
func Sweep(cache binaries.Cache, log io.Writer) error { return sweep(registryOf(cache), log) }

func sweep(reg registry, log io.Writer) error {
	dead, _, err := reg.orphans()
	if err != nil {
		return err
	}
	var failed []error
	for _, c := range dead {
		if c.Dir != "" {
			_, _ = fmt.Fprintf(log, "control plane: removing the cluster in %s; its launcher (process %d) is dead\n", c.Dir, c.Owner)
		}
		failed = append(failed, c.remove())
	}
	return errors.Join(failed...)
}

// remove ends the processes of the cluster, then deletes its files, then its record: if it is interrupted, the next sweep continues.
func (c *claim) remove() error {
	if c.Dir != "" {
		if err := errors.Join(kill(below(c.Dir)), c.removeFiles()); err != nil {
			return errors.Join(fmt.Errorf("removing the cluster in %s: %w", c.Dir, err), c.file.Close())
		}
	}
	return c.drop()
}

func (c *claim) removeFiles() error {
	err := os.Remove(c.Kubeconfig)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if c.KeepDir {
		return errors.Join(err, removeContents(c.Dir))
	}
	return errors.Join(err, os.RemoveAll(c.Dir))
}

// removeContents empties dir and keeps it.
func removeContents(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	failed := []error{err}
	for _, entry := range entries {
		failed = append(failed, os.RemoveAll(filepath.Join(dir, entry.Name())))
	}
	return errors.Join(failed...)
}

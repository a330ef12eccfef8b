package launch

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// record is what a launcher leaves on disk before it makes anything else, so that a later launcher can find and remove the cluster of one
// that was killed. The owner holds a file lock on its record for as long as it lives; the kernel drops the lock when the owner dies, so
// a process that gets the lock knows that no other process manages that cluster any more.
type record struct {
	// Dir is the absolute path of the cluster's directory. Every process of the cluster runs a program below it.
	Dir string `json:"dir"`
	// KeepDir says that Dir existed before: only what is in it is ours to remove.
	KeepDir bool `json:"keepDir,omitempty"`
	// Kubeconfig is the absolute path of the kubeconfig, which may lie outside Dir.
	Kubeconfig string `json:"kubeconfig"`
	// Owner is the process id of the launcher, for people who read the record.
	Owner int `json:"owner"`
	// Ports are the loopback ports that the components listen on once they have started, which takes seconds: other launchers do not choose them.
	Ports []int `json:"ports,omitempty"`
}

// registry is the directory of the records of one user.
type registry struct{ dir string }

// claim is a record together with its lock.
type claim struct {
	record
	path string
	file *os.File
}

// exclusively runs f while no other launcher of this user changes the registry.
func (r registry) exclusively(f func() error) error {
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return fmt.Errorf("making the cluster registry: %w", err)
	}
	gate, err := os.OpenFile(filepath.Join(r.dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return fmt.Errorf("opening the cluster registry: %w", err)
	}
	defer func() { _ = gate.Close() }()
	for {
		err := syscall.Flock(int(gate.Fd()), syscall.LOCK_EX)
		if err == nil {
			return f()
		}
		if !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("locking the cluster registry: %w", err)
		}
	}
}

// claim writes a record and locks it for the life of this process.
func (r registry) claim(rec record) (*claim, error) {
	var c *claim
	err := r.exclusively(func() error {
		path := filepath.Join(r.dir, randomID()+".json")
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
		if err != nil {
			return fmt.Errorf("writing the cluster record: %w", err)
		}
		c = &claim{record: rec, path: path, file: file}
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			return errors.Join(fmt.Errorf("locking the cluster record: %w", err), c.drop())
		}
		if err := c.write(); err != nil {
			return errors.Join(err, c.drop())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// write replaces the record on disk.
func (c *claim) write() error {
	text, err := json.Marshal(c.record)
	if err == nil {
		err = c.file.Truncate(0)
	}
	if err == nil {
		_, err = c.file.WriteAt(text, 0)
	}
	if err != nil {
		return fmt.Errorf("writing the cluster record: %w", err)
	}
	return nil
}

// choosePorts replaces the ports of the claim with others that are free and that no living launcher has chosen.
func (r registry) choosePorts(c *claim) error {
	return r.exclusively(func() error {
		paths, err := filepath.Glob(filepath.Join(r.dir, "*.json"))
		if err != nil {
			return fmt.Errorf("listing the cluster registry: %w", err)
		}
		chosen := map[int]bool{}
		for _, path := range paths {
			var other record
			if text, err := os.ReadFile(path); err != nil || json.Unmarshal(text, &other) != nil {
				continue // removed meanwhile, or cut short
			}
			for _, port := range other.Ports {
				chosen[port] = true
			}
		}
		if c.Ports, err = freePorts(portsNeeded, chosen); err != nil {
			return err
		}
		return c.write()
	})
}

// drop removes the record and frees its lock.
func (c *claim) drop() error {
	err := os.Remove(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, c.file.Close())
}

// orphans claims the record of every launcher that is dead and returns the records that a living launcher holds beside them.
func (r registry) orphans() (dead []*claim, alive []record, err error) {
	err = r.exclusively(func() error {
		paths, err := filepath.Glob(filepath.Join(r.dir, "*.json"))
		if err != nil {
			return fmt.Errorf("listing the cluster registry: %w", err)
		}
		for _, path := range paths {
			c, mine, err := r.take(path)
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				return fmt.Errorf("reading cluster record %s: %w", path, err)
			case mine:
				dead = append(dead, c)
			default:
				alive = append(alive, c.record)
			}
		}
		return nil
	})
	return dead, alive, err
}

// take reads one record; mine tells whether its lock was free and is now ours. A record that was cut short by a crash comes back with an
// empty Dir: its launcher had made nothing yet.
func (r registry) take(path string) (c *claim, mine bool, err error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, false, err
	}
	c = &claim{path: path, file: file}
	lockErr := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err := json.NewDecoder(file).Decode(&c.record); err != nil {
		c.record = record{}
	}
	if lockErr == nil {
		return c, true, nil
	}
	closeErr := file.Close()
	if !errors.Is(lockErr, syscall.EWOULDBLOCK) {
		return nil, false, lockErr
	}
	return c, false, closeErr
}

func randomID() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // crypto/rand.Read never fails
	return hex.EncodeToString(b[:])
}

package instance

import "sync"

// Deletions are the names of what this process is deleting, so that a second deletion does not repeat the requests of the first one. The zero
// value is empty. It is safe for concurrent use.
type Deletions struct {
	mu    sync.Mutex
	names map[string]bool
}

// Begin notes that a deletion begins; false if that of the name has begun and not ended.
func (d *Deletions) Begin(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names[name] {
		return false
	}
	if d.names == nil {
		d.names = map[string]bool{}
	}
	d.names[name] = true
	return true
}

// End notes that a deletion has ended, as it may.
func (d *Deletions) End(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.names, name)
}

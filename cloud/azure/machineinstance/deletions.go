package machineinstance

import "sync"

// deletions are the names of what this process is deleting, so that a second deletion does not repeat the requests of the first one. The zero
// value is empty. It is safe for concurrent use.
type deletions struct {
	mu    sync.Mutex
	names map[string]bool
}

// begin notes that a deletion begins; false if that of the name has begun and not ended.
func (d *deletions) begin(name string) bool {
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

// end notes that a deletion has ended, as it may.
func (d *deletions) end(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.names, name)
}

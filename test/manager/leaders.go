package manager

import (
	"encoding/json"
	"fmt"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
)

// leaders check that only the holder of the lease writes.
type leaders struct {
	violated func(name, format string, args ...any)

	mu sync.Mutex
	// holder is the replica that has the lease; nil while none has it. changes counts the holders.
	holder  *Replica
	changes int
}

// wrote reads the Lease that the API server stored for a replica.
func (l *leaders) wrote(by *Replica, answer []byte) {
	lease := &coordinationv1.Lease{}
	if err := json.Unmarshal(answer, lease); err != nil {
		panic(fmt.Sprintf("reading a lease: %v", err))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if ptr.Deref(lease.Spec.HolderIdentity, "") == "" {
		l.holder = nil
		return
	}
	if l.holder != by {
		l.changes++
	}
	l.holder = by
}

// acted checks a write of a replica. A nil replica is the rest of the cluster.
func (l *leaders) acted(by *Replica, what operation) {
	if by == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holder != by {
		holder := "none"
		if l.holder != nil {
			holder = l.holder.name
		}
		l.violated("write without the lease", "%s by %s, the lease is held by %s", what, by.name, holder)
	}
}

func (l *leaders) leading() *Replica {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holder
}

// holders is how many times another replica got the lease.
func (l *leaders) holders() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changes
}

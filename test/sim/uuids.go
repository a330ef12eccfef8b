package sim

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"sync"
)

// uuidBytes has the random bytes of the UUIDs that controllers draw. One step may wake several goroutines, which draw in any order: each has bytes
// that depend on where in the program it is, and on how often it was drawn there during the same action.
type uuidBytes struct {
	world *World

	mu    sync.Mutex
	drawn map[uint64]uint64
}

// Read implements io.Reader.
func (d *uuidBytes) Read(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	where := place(d.world.acting())
	d.drawn[where]++
	r := rand.New(rand.NewPCG(d.world.seed^where, d.drawn[where])) //nolint:gosec // a simulation
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return len(p), nil
}

// place is where in the program its caller is, as a hash that begins with a name.
func place(name string) uint64 {
	var callers [24]uintptr
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers[:])])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		_, _ = h.Write([]byte(f.Function))
		_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, uint64(f.Line))) //nolint:gosec // a hash
	}
	return h.Sum64()
}

package sim

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hashSeed makes hashes equal within one process of the operating system; they are not kept beyond it.
var hashSeed = maphash.MakeSeed() //nolint:gochecknoglobals // never changes

// hasher hashes Go values by what they hold: pointers by what they point to, maps in any order, times relative to now.
type hasher struct {
	now time.Time
	// timeless leaves times out.
	timeless bool
	// known are the hashes of what pointers point to, and path the pointers on the way to the current value.
	known map[visit]uint64
	path  []visit
	// cut is the lowest place in path that a cycle has led back to since it was set: what is below depends on how it was reached.
	cut int
}

type visit struct {
	at   uintptr
	kind reflect.Type
}

func newHasher(now time.Time) *hasher { return &hasher{now: now, known: map[visit]uint64{}} }

// opaque are the packages whose values are not looked into: they lead out of the controllers, or never change a decision.
var opaque = []string{ //nolint:gochecknoglobals // never changes
	"context", "sync", "internal/sync", "log/slog", "runtime", "reflect", "net", "crypto", "regexp", "golang.org/x", "github.com/go-logr",
	"github.com/prometheus", "google.golang.org", "go.opentelemetry.io", "k8s.io/client-go", "sigs.k8s.io/controller-runtime",
	"k8s.io/apimachinery/pkg/runtime", "k8s.io/utils/clock", "k8s.io/apimachinery/pkg/util/sets/internal",
	"github.com/karpenter-anew/karpenter/test/sim", "github.com/karpenter-anew/karpenter/internal/observe", "github.com/karpenter-anew/karpenter/cloud",
	"github.com/karpenter-anew/karpenter/internal/options", "github.com/karpenter-anew/karpenter/internal/translate", "github.com/karpenter-anew/karpenter/embedded",
}

// unhashed are fields that do not say what an object is: a resource version counts the writes of all objects, and the text of a Quantity is a cache.
var unhashed = map[string][]string{ //nolint:gochecknoglobals // never changes
	"ObjectMeta": {"ResourceVersion", "ManagedFields"},
	"Quantity":   {"s"},
}

// since1885 is the second from which time.Time counts when it has a monotonic clock.
var since1885 = time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix() //nolint:gochecknoglobals // never changes

var timeType = reflect.TypeFor[time.Time]() //nolint:gochecknoglobals // never changes

// opaqueTypes remembers what isOpaque has found.
var opaqueTypes sync.Map //nolint:gochecknoglobals // what types are never changes

func isOpaque(t reflect.Type) bool {
	if known, ok := opaqueTypes.Load(t); ok {
		return known == true
	}
	path := t.PkgPath()
	is := path != "" && slices.ContainsFunc(opaque, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") })
	opaqueTypes.Store(t, is)
	return is
}

// of is the hash of values.
func (h *hasher) of(values ...any) uint64 {
	var s sum
	for _, v := range values {
		s.add(h.value(reflect.ValueOf(v)))
	}
	return s.hash()
}

// sum combines hashes in order.
type sum []byte

func (s *sum) add(n uint64)  { *s = binary.LittleEndian.AppendUint64(*s, n) }
func (s *sum) hash() uint64  { return maphash.Bytes(hashSeed, *s) }
func text(t string) uint64   { return maphash.String(hashSeed, t) }
func number(n uint64) uint64 { return maphash.Comparable(hashSeed, n) }

func (h *hasher) value(v reflect.Value) uint64 {
	if !v.IsValid() {
		return 0
	}
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return 1
		}
		return 2
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return number(uint64(v.Int())) //nolint:gosec // a hash
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return number(v.Uint())
	case reflect.Float32, reflect.Float64:
		return maphash.Comparable(hashSeed, v.Float())
	case reflect.String:
		return text(v.String())
	case reflect.Interface:
		if v.IsNil() {
			return 3
		}
		return h.value(v.Elem())
	case reflect.Pointer:
		return h.pointer(v)
	case reflect.Struct:
		return h.fields(v)
	case reflect.Slice, reflect.Array:
		s := sum{byte(v.Len())}
		for i := range v.Len() {
			s.add(h.value(v.Index(i)))
		}
		return s.hash()
	case reflect.Map:
		total := number(uint64(v.Len())) //nolint:gosec // a length
		for i := v.MapRange(); i.Next(); {
			total += (&sum{}).pair(h.value(i.Key()), h.value(i.Value()))
		}
		return total
	default: // functions, channels
		return 4
	}
}

func (s *sum) pair(a, b uint64) uint64 {
	s.add(a)
	s.add(b)
	return s.hash()
}

func (h *hasher) pointer(v reflect.Value) uint64 {
	if v.IsNil() {
		return 5
	}
	if isOpaque(v.Type().Elem()) {
		return 6
	}
	at := visit{v.Pointer(), v.Type()}
	if hash, done := h.known[at]; done {
		return hash
	}
	if i := slices.Index(h.path, at); i >= 0 {
		h.cut = min(h.cut, i)
		return 8
	}
	before, depth := h.cut, len(h.path)
	h.cut = math.MaxInt
	h.path = append(h.path, at)
	hash := h.value(v.Elem())
	h.path = h.path[:depth]
	if h.cut >= depth {
		h.known[at] = hash
		h.cut = math.MaxInt
	}
	h.cut = min(h.cut, before)
	return hash
}

func (h *hasher) fields(v reflect.Value) uint64 {
	t := v.Type()
	switch {
	case t == timeType:
		return h.time(v)
	case strings.HasPrefix(t.PkgPath(), "sync/atomic"):
	case isOpaque(t):
		return 6
	}
	s := sum{}
	skipped := unhashed[t.Name()]
	for i := range v.NumField() {
		if slices.Contains(skipped, t.Field(i).Name) {
			continue
		}
		s.add(h.value(v.Field(i)))
	}
	return s.hash()
}

// time is the hash of a time, whose fields cannot be read otherwise: the layout is that documented in package time.
func (h *hasher) time(v reflect.Value) uint64 {
	const sinceYear1 = -62135596800
	wall, ext := v.Field(0).Uint(), v.Field(1).Int()
	seconds, nanoseconds := ext+sinceYear1, int64(wall&(1<<30-1)) //nolint:gosec // 30 bits
	if wall>>63 == 1 {
		seconds = int64(wall<<1>>31) + since1885 //nolint:gosec // 33 bits
	}
	at := time.Unix(seconds, nanoseconds)
	if h.timeless || at.IsZero() {
		return 7
	}
	return number(uint64(at.Sub(h.now))) //nolint:gosec // a hash
}

// state is the hash of all that decides how the run goes on after an event is next, as far as it can be read: objects, caches that lag, instances, queues, events that
// wait, what controllers remember, and what their goroutines have read since they began with what they do. Of events that
// an exploration has put last, it says so: events that are added for the same time go before them.
func (c *Cluster) state(next *event) uint64 {
	now := time.Now()
	h, s := newHasher(now), sum{}
	for _, gvk := range c.changing() {
		list, _, err := c.API.list(gvk)
		if err != nil {
			panic(err)
		}
		s.add(h.of(gvk.Kind, list))
	}
	s.add(c.Datacenter.state(h))
	for _, p := range c.processes {
		if p.alive() {
			s.add(p.state(h))
		}
	}
	for _, e := range append([]*event{next}, c.World.pending()...) {
		s.add(h.of(e.name, e.actor, e.at, e.knows, e.last()))
	}
	return s.hash()
}

// changing are the kinds that have changed since the exploration began.
func (c *Cluster) changing() (out []schema.GroupVersionKind) {
	for gvk, k := range c.API.kinds {
		if c.API.Registry.Changed(k) > c.explored && k.Kind != "Event" {
			out = append(out, gvk)
		}
	}
	slices.SortFunc(out, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return out
}

func (d *Datacenter) state(h *hasher) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := sum{}
	total := uint64(0)
	for id, i := range d.instances {
		total += h.of(id, i.Claim, i.Owner, i.Ending, i.Image)
	}
	s.add(total)
	s.add(h.of(d.byClaim, d.out, d.failing))
	return s.hash()
}

// state is what a process remembers.
func (p *Process) state(h *hasher) uint64 {
	s := sum{}
	p.mu.Lock()
	s.add(h.of(p.deposed, p.skew))
	queues := slices.Clone(p.queues)
	p.mu.Unlock()
	for _, q := range queues {
		s.add(q.state(h))
	}
	s.add(p.cache.state(h))
	for _, c := range p.controllers {
		s.add(h.of(c))
	}
	return s.hash()
}

func (q *queue[T]) state(h *hasher) uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	retries := map[T]int{}
	for item := range q.later {
		retries[item] = q.limiter.NumRequeues(item)
	}
	return h.of(q.name, q.working, q.dirty, retries)
}

// state is the hash of what lags behind.
func (c *informers) state(h *hasher) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	total := uint64(0)
	for gvk, i := range c.kinds {
		if !i.due {
			continue
		}
		total += h.of(gvk.Kind, i.objects)
	}
	return total
}

// observe adds what a goroutine has read, or is about to write, to what is known during the step. The times in it are left out.
func (w *World) observe(what string, objects ...client.Object) {
	if w.explorer == nil || !w.explorer.on {
		return
	}
	h := newHasher(time.Time{})
	h.timeless = true
	s := sum{}
	s.add(text(what))
	for _, o := range objects {
		s.add(h.of(o))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.observed += s.hash()
}

package translate

import (
	"runtime"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// Pods translates pods as Pod does, concurrently.
//
// Problem: thousands of pods share a few dozen specs, and most of the time is spent on finding that out. Approach: the list is
// split into chunks; a goroutine per chunk computes the keys and numbers the distinct ones; then a single goroutine translates
// each distinct key. Invariant: only that goroutine uses the translator's shared state, in the order in which keys first occur, so
// the result is that of translating one pod after the other, whatever the number of chunks. Cost: one pass over the pods; the
// sequential part is one look-up per distinct spec and chunk.
func (t *Translator) Pods(pods []*corev1.Pod) []*model.Pod {
	out := make([]*model.Pod, len(pods))
	n := min(runtime.GOMAXPROCS(0), len(pods)/minChunk)
	if n < 2 {
		for i, pod := range pods {
			out[i] = t.Pod(pod)
		}
		return out
	}
	stretches := make([]chunk, n)
	var reading sync.WaitGroup
	for i := range stretches {
		first, end := i*len(pods)/n, (i+1)*len(pods)/n
		s := &stretches[i]
		s.pods, s.out = pods[first:end], out[first:end]
		reading.Go(func() { s.read(t) })
	}
	reading.Wait()
	parts := newSpecParts()
	for i := range stretches {
		stretches[i].resolve(t, parts)
	}
	return out
}

// minChunk is a number of pods whose translation takes much longer than starting a goroutine.
const minChunk = 512

// chunk is a part of a list of pods, with their translations.
type chunk struct {
	pods []*corev1.Pod
	out  []*model.Pod
	// specs and labels are the keys of the pods' specs, followed by a flag for pending pods, and of their labels.
	specs, labels keyIndex
	// cuts are where the first part of the key of a spec ends, by its number.
	cuts []int
}

// read translates the fields that pods do not share, and collects the keys of the rest.
func (s *chunk) read(t *Translator) {
	s.specs, s.labels = newKeyIndex(len(s.pods)), newKeyIndex(len(s.pods))
	var space [keySpace]byte
	for i, pod := range s.pods {
		s.out[i] = t.plain(pod)
		key, cut := t.specs.appendKey(space[:0], pod)
		if s.specs.add(i, appendFlags(key, podrules.Unplaced(pod))) {
			s.cuts = append(s.cuts, cut)
		}
		s.labels.add(i, appendPodLabels(space[:0], pod))
	}
}

// resolve adds the shared values.
func (s *chunk) resolve(t *Translator, parts *specParts) {
	answers := make([]podSpec, len(s.specs.first))
	for n, i := range s.specs.first {
		said := s.specs.keys[n]
		key, waits := said[:len(said)-1], said[len(said)-1] == 1
		answers[n] = t.specs.withKey([]byte(key), s.cuts[n], s.pods[i], waits, parts)
	}
	labels := make([]*model.Labels, len(s.labels.first))
	for n, i := range s.labels.first {
		labels[n] = t.labelsOf([]byte(s.labels.keys[n]), s.pods[i])
	}
	for i, p := range s.out {
		a := &answers[s.specs.of[i]]
		p.Shape, p.Rejected, p.Silent, p.IgnoredPreferences = a.shape, a.problems, a.silent, a.ignored
		p.Labels = labels[s.labels.of[i]]
	}
}

// keyIndex numbers the distinct keys of the pods of a chunk, in the order of their first occurrence.
type keyIndex struct {
	number map[string]int32
	// of is the number of each pod's key.
	of []int32
	// keys and first are, by number, the key and the first pod with it.
	keys  []string
	first []int
}

func newKeyIndex(pods int) keyIndex {
	return keyIndex{number: map[string]int32{}, of: make([]int32, pods)}
}

// add adds the key of a pod, and reports whether no pod before had it.
func (x *keyIndex) add(pod int, key []byte) bool {
	n, ok := x.number[string(key)]
	if !ok {
		n = int32(len(x.first)) //nolint:gosec // at most one for each pod
		said := string(key)
		x.number[said] = n
		x.keys, x.first = append(x.keys, said), append(x.first, pod)
	}
	x.of[pod] = n
	return !ok
}

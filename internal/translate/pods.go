package translate

import (
	"runtime"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// Pods translates pods as Pod does, all at once.
//
// Problem: a thousand pods ask the same few dozen questions, and nearly all it takes to read them is finding out that they
// do. Approach: the list is cut into stretches, and each is read by a goroutine of its own, which writes keys and numbers
// what is said in its stretch; afterwards one goroutine finds what each number means. Invariant: whatever the translator
// shares is touched by that one only, in the order in which pods say things first, so the outcome is that of translating
// one pod after the other, however many stretches there are. Cost: a pod is read once; what remains for one core is a
// question for each kind of pod in each stretch.
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
	for i := range stretches {
		stretches[i].resolve(t)
	}
	return out
}

// minChunk is how many pods take much longer to read than a goroutine takes to start.
const minChunk = 512

// chunk is a part of a list of pods, each with its translation.
type chunk struct {
	pods []*corev1.Pod
	out  []*model.Pod
	// specs and labels are what the pods ask, followed by whether they wait, and their labels.
	specs, labels keyIndex
}

// read translates what is the pods' own, and collects what they share.
func (s *chunk) read(t *Translator) {
	s.specs, s.labels = newKeyIndex(len(s.pods)), newKeyIndex(len(s.pods))
	var space [keySpace]byte
	for i, pod := range s.pods {
		s.out[i] = plain(pod)
		s.specs.add(i, appendFlags(t.appendSpecKey(space[:0], pod), podrules.Provisionable(pod)))
		s.labels.add(i, appendPodLabels(space[:0], pod))
	}
}

// resolve adds what the pods share.
func (s *chunk) resolve(t *Translator) {
	answers := make([]podSpec, len(s.specs.first))
	for n, i := range s.specs.first {
		said := s.specs.keys[n]
		key, waits := said[:len(said)-1], said[len(said)-1] == 1
		answers[n] = t.podSpecOf([]byte(key), s.pods[i], waits)
	}
	labels := make([]*model.Labels, len(s.labels.first))
	for n, i := range s.labels.first {
		labels[n] = t.labelsOf([]byte(s.labels.keys[n]), s.pods[i])
	}
	for i, p := range s.out {
		a := &answers[s.specs.of[i]]
		p.Shape, p.Rejected, p.Silent = a.shape, a.problems, a.silent
		p.Labels = labels[s.labels.of[i]]
	}
}

// keyIndex numbers what the pods of a stretch say, in the order in which it is said first.
type keyIndex struct {
	number map[string]int32
	// of is the number of what each pod says.
	of []int32
	// keys and first are, by number, what is said and the pod that says it first.
	keys  []string
	first []int
}

func newKeyIndex(pods int) keyIndex {
	return keyIndex{number: map[string]int32{}, of: make([]int32, pods)}
}

func (x *keyIndex) add(pod int, key []byte) {
	n, ok := x.number[string(key)]
	if !ok {
		n = int32(len(x.first)) //nolint:gosec // at most one for each pod
		said := string(key)
		x.number[said] = n
		x.keys, x.first = append(x.keys, said), append(x.first, pod)
	}
	x.of[pod] = n
}

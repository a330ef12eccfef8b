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
	n := min(runtime.GOMAXPROCS(0), len(pods)/shortestStretch)
	if n < 2 {
		for i, pod := range pods {
			out[i] = t.Pod(pod)
		}
		return out
	}
	stretches := make([]stretch, n)
	var reading sync.WaitGroup
	for i := range stretches {
		first, end := i*len(pods)/n, (i+1)*len(pods)/n
		s := &stretches[i]
		s.pods, s.out = pods[first:end], out[first:end]
		reading.Go(func() { s.read(t) })
	}
	reading.Wait()
	for i := range stretches {
		stretches[i].answer(t)
	}
	return out
}

// shortestStretch is how many pods take much longer to read than a goroutine takes to start.
const shortestStretch = 512

// stretch is a part of a list of pods, each with its translation.
type stretch struct {
	pods []*corev1.Pod
	out  []*model.Pod
	// questions and labels are what the pods ask, followed by whether they wait, and their labels.
	questions, labels sayings
}

// read translates what is the pods' own, and collects what they share.
func (s *stretch) read(t *Translator) {
	s.questions, s.labels = newSayings(len(s.pods)), newSayings(len(s.pods))
	var space [keySpace]byte
	for i, pod := range s.pods {
		s.out[i] = plain(pod)
		s.questions.note(i, appendFlags(t.appendQuestion(space[:0], pod), podrules.Provisionable(pod)))
		s.labels.note(i, appendPodLabels(space[:0], pod))
	}
}

// answer adds what the pods share.
func (s *stretch) answer(t *Translator) {
	answers := make([]answer, len(s.questions.first))
	for n, i := range s.questions.first {
		said := s.questions.said[n]
		key, waits := said[:len(said)-1], said[len(said)-1] == 1
		answers[n] = t.answer([]byte(key), s.pods[i], waits)
	}
	labels := make([]*model.Labels, len(s.labels.first))
	for n, i := range s.labels.first {
		labels[n] = t.labelsOf([]byte(s.labels.said[n]), s.pods[i])
	}
	for i, p := range s.out {
		a := &answers[s.questions.of[i]]
		p.Shape, p.Rejected, p.Silent = a.shape, a.problems, a.silent
		p.Labels = labels[s.labels.of[i]]
	}
}

// sayings numbers what the pods of a stretch say, in the order in which it is said first.
type sayings struct {
	number map[string]int32
	// of is the number of what each pod says.
	of []int32
	// said and first are, by number, what is said and the pod that says it first.
	said  []string
	first []int
}

func newSayings(pods int) sayings {
	return sayings{number: map[string]int32{}, of: make([]int32, pods)}
}

func (x *sayings) note(pod int, key []byte) {
	n, ok := x.number[string(key)]
	if !ok {
		n = int32(len(x.first)) //nolint:gosec // at most one for each pod
		said := string(key)
		x.number[said] = n
		x.said, x.first = append(x.said, said), append(x.first, pod)
	}
	x.of[pod] = n
}

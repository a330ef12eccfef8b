package workload

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Mix makes pods of several kinds at random. The same seed makes the same pods.
type Mix struct {
	Seed uint64 `json:"seed"`
	// CPU and Memory are the sizes of the kinds that have none of their own.
	CPU    []resource.Quantity `json:"cpu"`
	Memory []resource.Quantity `json:"memory"`
	// Kinds are the kinds of pods; none means one that asks for nothing but room.
	Kinds []Kind `json:"kinds"`
}

// Kind is a kind of pod. Its pods come in every combination of CPU and memory.
type Kind struct {
	// Share is how often the kind occurs relative to the others; 0 means 1.
	Share int `json:"share"`
	// CPU and Memory are the sizes to choose from.
	CPU    []resource.Quantity `json:"cpu"`
	Memory []resource.Quantity `json:"memory"`
	// Pod is what else the pods of the kind say: node selector, affinity, tolerations.
	Pod corev1.PodSpec `json:"pod"`
}

func (m Mix) check() error {
	for i, k := range m.kinds() {
		if len(k.CPU) == 0 || len(k.Memory) == 0 || k.Share < 0 {
			return fmt.Errorf("generator.mix.kinds[%d]: cpu and memory need at least one size each, and share must not be negative", i)
		}
	}
	return nil
}

// kinds are the kinds with their sizes.
func (m Mix) kinds() []Kind {
	out := slices.Clone(m.Kinds)
	if len(out) == 0 {
		out = []Kind{{}}
	}
	for i := range out {
		if len(out[i].CPU) == 0 {
			out[i].CPU = m.CPU
		}
		if len(out[i].Memory) == 0 {
			out[i].Memory = m.Memory
		}
	}
	return out
}

// streamOfMix tells this use of the seed from others.
const streamOfMix = 1

func (m Mix) pods(n int) []client.Object {
	random := rand.New(rand.NewPCG(m.Seed, streamOfMix))
	var deck []Kind
	for _, k := range m.kinds() {
		deck = append(deck, slices.Repeat([]Kind{k}, max(k.Share, 1))...)
	}
	out := make([]client.Object, 0, n)
	for i := range n {
		k := deck[random.IntN(len(deck))]
		out = append(out, pending(fmt.Sprintf("pod-%d", i), k.Pod, corev1.ResourceList{
			corev1.ResourceCPU:    k.CPU[random.IntN(len(k.CPU))],
			corev1.ResourceMemory: k.Memory[random.IntN(len(k.Memory))],
		}))
	}
	return out
}

// created is when all pods were.
var created = metav1.NewTime(time.Unix(1_700_000_000, 0)) //nolint:gochecknoglobals // a constant, but for its type

// pending is a pod with one container that asks for requests.
func pending(name string, spec corev1.PodSpec, requests corev1.ResourceList) *corev1.Pod {
	spec = *spec.DeepCopy()
	spec.Containers = []corev1.Container{{Name: "main", Image: "main", Resources: corev1.ResourceRequirements{Requests: requests}}}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), CreationTimestamp: created},
		Spec:       spec,
	}
}

package workload

import (
	"errors"
	"fmt"
	"math/rand/v2"
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
	// CPU and Memory are the sizes of the kinds that set none.
	CPU    []resource.Quantity `json:"cpu"`
	Memory []resource.Quantity `json:"memory"`
	// Draw and Labels are for the kinds that set none.
	Draw   map[string]choices `json:"draw"`
	Labels map[string]string  `json:"labels"`
	// Kinds are the kinds of pods; none means one that only requests resources.
	Kinds []Kind `json:"kinds"`
}

func (m Mix) check() error {
	for i, k := range m.kinds() {
		at := fmt.Sprintf("generator.mix.kinds[%d]", i)
		if len(k.CPU) == 0 || len(k.Memory) == 0 || k.Share < 0 {
			return errors.New(at + ": cpu and memory need at least one size each, and share must not be negative")
		}
		if _, err := newDealer(k); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	return nil
}

// kinds are the kinds with what the mix says for all of them.
func (m Mix) kinds() []Kind {
	out := append([]Kind(nil), m.Kinds...)
	if len(out) == 0 {
		out = []Kind{{}}
	}
	for i := range out {
		k := &out[i]
		if len(k.CPU) == 0 {
			k.CPU = m.CPU
		}
		if len(k.Memory) == 0 {
			k.Memory = m.Memory
		}
		if k.Draw == nil {
			k.Draw = m.Draw
		}
		if k.Labels == nil {
			k.Labels = m.Labels
		}
	}
	return out
}

// The uses of a seed: each has its own stream.
const (
	streamOfMix uint64 = iota + 1
	streamOfRunning
)

// pods are n pods, named by their prefix and number.
func (m Mix) pods(n int, prefix string, stream uint64) ([]*corev1.Pod, error) {
	random := rand.New(rand.NewPCG(m.Seed, stream))
	var deck []*dealer
	for _, k := range m.kinds() {
		d, err := newDealer(k)
		if err != nil {
			return nil, err
		}
		for range max(k.Share, 1) {
			deck = append(deck, d)
		}
	}
	out := make([]*corev1.Pod, 0, n)
	for i := range n {
		pod, err := deck[random.IntN(len(deck))].deal(random)
		if err != nil {
			return nil, err
		}
		pod.Name = fmt.Sprintf("%s%d", prefix, i)
		pod.UID = types.UID(pod.Name)
		out = append(out, pod)
	}
	return out, nil
}

// pending are n pods that wait for a node.
func (m Mix) pending(n int) ([]client.Object, error) {
	pods, err := m.pods(n, "pod-", streamOfMix)
	out := make([]client.Object, len(pods))
	for i, p := range pods {
		out[i] = p
	}
	return out, err
}

// created is when all pods were.
var created = metav1.NewTime(time.Unix(1_700_000_000, 0)) //nolint:gochecknoglobals // a constant, but for its type

// podOf is a pod with one container that has these requests.
func podOf(spec corev1.PodSpec, requests corev1.ResourceList) *corev1.Pod {
	spec.Containers = []corev1.Container{{Name: "main", Image: "main", Resources: corev1.ResourceRequirements{Requests: requests}}}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", CreationTimestamp: created}, Spec: spec}
}

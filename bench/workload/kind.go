package workload

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// Kind is a kind of pod. Its pods come in every combination of CPU, memory and what is drawn.
type Kind struct {
	// Share is how often the kind occurs relative to the others; 0 means 1.
	Share int `json:"share"`
	// CPU and Memory are the sizes to choose from.
	CPU    []resource.Quantity `json:"cpu"`
	Memory []resource.Quantity `json:"memory"`
	// Draw are names of which every pod draws one value each: $(name) stands for it in Labels and Pod.
	Draw map[string]choices `json:"draw"`
	// Labels are those of the pods.
	Labels map[string]string `json:"labels"`
	// Pod is what else the pods of the kind say, a pod's spec: node selector, affinity, tolerations.
	Pod json.RawMessage `json:"pod"`
}

// choices are values to draw from. An entry first..last stands for all whole numbers between them.
type choices []string

// values are the choices one by one.
func (c choices) values() []string {
	var out []string
	for _, entry := range c {
		first, last, ok := strings.Cut(entry, "..")
		low, err := strconv.Atoi(first)
		high, err2 := strconv.Atoi(last)
		if !ok || err != nil || err2 != nil {
			out = append(out, entry)
			continue
		}
		for n := low; n <= high; n++ {
			out = append(out, strconv.Itoa(n))
		}
	}
	return out
}

// dealer makes the pods of one kind. What was drawn before is not read again.
type dealer struct {
	kind  Kind
	names []string
	draws [][]string
	text  string
	known map[string]face
}

// face is what pods with equal draws share.
type face struct {
	labels map[string]string
	spec   corev1.PodSpec
}

func newDealer(k Kind) (*dealer, error) {
	d := &dealer{kind: k, names: slices.Sorted(maps.Keys(k.Draw)), known: map[string]face{}}
	for _, name := range d.names {
		values := k.Draw[name].values()
		if len(values) == 0 {
			return nil, fmt.Errorf("draw %q has nothing to draw from", name)
		}
		d.draws = append(d.draws, values)
	}
	text, err := json.Marshal(map[string]any{"labels": k.Labels, "pod": k.Pod})
	if err != nil {
		return nil, err
	}
	d.text = string(text)
	first := make([]string, len(d.draws))
	for i, values := range d.draws {
		first[i] = values[0]
	}
	_, err = d.face(first)
	return d, err
}

// face reads the kind with the drawn values filled in.
func (d *dealer) face(drawn []string) (face, error) {
	id := strings.Join(drawn, "\x00")
	if known, ok := d.known[id]; ok {
		return known, nil
	}
	text := d.text
	for i, name := range d.names {
		text = strings.ReplaceAll(text, "$("+name+")", drawn[i])
	}
	if _, rest, left := strings.Cut(text, "$("); left {
		name, _, _ := strings.Cut(rest, ")")
		return face{}, fmt.Errorf("$(%s) is not drawn", name)
	}
	var read struct {
		Labels map[string]string `json:"labels"`
		Pod    corev1.PodSpec    `json:"pod"`
	}
	if err := yaml.UnmarshalStrict([]byte(text), &read); err != nil {
		return face{}, fmt.Errorf("pod: %w", err)
	}
	d.known[id] = face{read.Labels, read.Pod}
	return d.known[id], nil
}

// deal is a pod without a name.
func (d *dealer) deal(random *rand.Rand) (*corev1.Pod, error) {
	drawn := make([]string, len(d.draws))
	for i, values := range d.draws {
		drawn[i] = values[random.IntN(len(values))]
	}
	f, err := d.face(drawn)
	if err != nil {
		return nil, err
	}
	pod := podOf(*f.spec.DeepCopy(), corev1.ResourceList{
		corev1.ResourceCPU:    d.kind.CPU[random.IntN(len(d.kind.CPU))],
		corev1.ResourceMemory: d.kind.Memory[random.IntN(len(d.kind.Memory))],
	})
	pod.Labels = maps.Clone(f.labels)
	return pod, nil
}

package workload

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Trace takes the pods from a comma-separated list with the columns name, cpu_milli, memory_mib and num_gpu, as in the
// Open-B trace of a production cluster. Other columns are not looked at: what the trace says about kinds and fractions of
// GPUs has no counterpart among the resources of Kubernetes.
type Trace struct {
	// GPU is the resource that num_gpu counts; empty leaves GPUs out.
	GPU corev1.ResourceName `json:"gpu"`
	// Pod is what else the pods say.
	Pod corev1.PodSpec `json:"pod"`
}

// pods are the first limit of the list, or all of it for 0.
func (t Trace) pods(path string, limit int) ([]client.Object, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows := csv.NewReader(f)
	header, err := rows.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: reading the header: %w", path, err)
	}
	columns := map[string]int{}
	for i, name := range header {
		columns[name] = i
	}
	var out []client.Object
	for limit == 0 || len(out) < limit {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var pod *corev1.Pod
		if err == nil {
			pod, err = t.pod(columns, row)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: pod %d: %w", path, len(out)+1, err)
		}
		out = append(out, pod)
	}
	return out, nil
}

func (t Trace) pod(columns map[string]int, row []string) (*corev1.Pod, error) {
	var amounts [3]int64
	for i, name := range []string{"cpu_milli", "memory_mib", "num_gpu"} {
		column, ok := columns[name]
		if !ok {
			return nil, fmt.Errorf("there is no column %s", name)
		}
		n, err := strconv.ParseInt(row[column], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		amounts[i] = n
	}
	column, ok := columns["name"]
	if !ok {
		return nil, errors.New("there is no column name")
	}
	requests := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(amounts[0], resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(amounts[1]<<20, resource.BinarySI),
	}
	if t.GPU != "" && amounts[2] > 0 {
		requests[t.GPU] = *resource.NewQuantity(amounts[2], resource.DecimalSI)
	}
	pod := podOf(*t.Pod.DeepCopy(), requests)
	pod.Name, pod.UID = row[column], types.UID(row[column])
	return pod, nil
}

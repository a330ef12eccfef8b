// Package telemetry defines the metrics and the Kubernetes events that only the provider for AKS has.
//
// Source: Azure provider specification, metrics; events.
package telemetry

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenter-anew/karpenter/internal/observe"
)

// Phases are values of the label phase of Metrics.CreateFailures: whether Azure refused a virtual machine at once, or after it had
// accepted it.
const (
	PhaseSync  = "sync"
	PhaseAsync = "async"
)

// UnknownCode is the value of the label error_code for errors without a code.
const UnknownCode = "UnknownError"

// Metrics describe launches on Azure.
type Metrics struct {
	// Creates counts requests for virtual machines; labels image, size, zone, capacity_type, nodepool.
	Creates *prometheus.CounterVec
	// CreateFailures counts those that failed; the same labels, and phase, error_code.
	CreateFailures *prometheus.CounterVec
	// ImageErrors counts launches for which a class had no image; label family.
	ImageErrors *prometheus.CounterVec

	definitions []observe.Definition
}

// Created are the labels of a virtual machine in metrics.
type Created struct {
	// Image is the ARM id of the image, Zone the value of the zone label. NodePool is empty for NodeClaims without one.
	Image, Size, Zone, CapacityType, NodePool string
}

// NewMetrics defines the metrics and registers them. It panics when reg has one of the names already.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	b := observe.NewMetricBuilder(reg)
	of := []string{"image", "size", "zone", "capacity_type", "nodepool"}
	m := &Metrics{
		Creates: b.Counters("karpenter_instance_vm_create_start_total", "Virtual machines that Azure was asked for.", of...),
		CreateFailures: b.Counters("karpenter_instance_vm_create_failure_total",
			"Virtual machines that Azure did not create: refused at once, or failed later.", append(slices.Clone(of), "phase", "error_code")...),
		ImageErrors: b.Counters("karpenter_image_selection_error_count",
			"Launches of an instance type for which the AKSNodeClass has no image.", "family"),
	}
	m.definitions = b.Definitions()
	return m
}

// Definitions lists the metrics by name.
func (m *Metrics) Definitions() []observe.Definition { return slices.Clone(m.definitions) }

// Started counts a request for a virtual machine.
func (m *Metrics) Started(c Created) {
	m.Creates.WithLabelValues(c.Image, c.Size, c.Zone, c.CapacityType, c.NodePool).Inc()
}

// Failed counts a virtual machine that Azure did not create. The code is that of Azure; empty for errors without one.
func (m *Metrics) Failed(c Created, phase, code string) {
	if code == "" {
		code = UnknownCode
	}
	m.CreateFailures.WithLabelValues(c.Image, c.Size, c.Zone, c.CapacityType, c.NodePool, phase, code).Inc()
}

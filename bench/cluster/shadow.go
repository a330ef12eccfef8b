package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/test/process"
)

// service is a Deployment of the day: its number of replicas follows a curve.
type service struct {
	name, cpu, memory string
	// least and most are the replicas at night and at the peak, peak is when that is, in hours.
	least, most, peak float64
}

// services are a shop: what customers use peaks in the evening, what companies use at noon, and batches run at night.
func services() []service {
	return []service{
		{"web", "500m", "512Mi", 10, 80, 20},
		{"api", "1", "4Gi", 6, 40, 19},
		{"office", "2", "4Gi", 1, 20, 12},
		{"cache", "500m", "6Gi", 4, 8, 20},
		{"batch", "3500m", "7Gi", 0, 25, 2},
	}
}

// replicas at an hour of the day: a cosine with its peak.
func (x service) replicas(hour float64) int32 {
	wave := (1 + math.Cos((hour-x.peak)/24*2*math.Pi)) / 2
	return int32(math.Round(x.least + (x.most-x.least)*wave*wave))
}

// measureShadow runs our controller in shadow of upstream's for a day, which takes as long as the settings say.
func measureShadow(ctx context.Context, s settings) (err error) {
	_, _ = fmt.Fprintf(s.out, "a day of %s: Deployments follow a curve, upstream's controller provisions, karpenter shadow watches\n", s.day)
	p, err := startPlane(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.cluster.Stop()) }()
	running, err := side{name: "upstream", binary: s.upstream}.start(ctx, s, p, "shadow")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, running.stop()) }()
	want := pool("")
	want.Spec.Disruption.ConsolidationPolicy, want.Spec.Disruption.ConsolidateAfter = v1.ConsolidationPolicyWhenEmptyOrUnderutilized, v1.NewNillableDuration(0)
	if err := p.createPool(ctx, want); err != nil {
		return err
	}
	for _, x := range services() {
		if err := p.Create(ctx, x.deployment()); err != nil {
			return fmt.Errorf("creating Deployment %s: %w", x.name, err)
		}
	}
	return s.shadow(ctx, p)
}

// shadow runs karpenter shadow beside the day, and prints its report.
func (s settings) shadow(ctx context.Context, p *plane) (err error) {
	var report bytes.Buffer
	log := io.Writer(&report)
	if s.logs != "" {
		file, err := os.Create(filepath.Join(s.logs, "shadow.log"))
		if err != nil {
			return fmt.Errorf("keeping the log: %w", err)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		log = io.MultiWriter(log, file)
	}
	watching, err := process.Start(s.ours, []string{"shadow", "--kubeconfig=" + p.kubeconfig, "--catalog=generic", "--interval=" + (s.day / 20).String()}, os.Environ(), log)
	if err != nil {
		return fmt.Errorf("starting karpenter shadow: %w", err)
	}
	const steps = 96 // a quarter of an hour each
	start := time.Now()
	for i := range steps {
		hour := 24 * float64(i) / steps
		for _, x := range services() {
			if err := p.scale(ctx, x.name, x.replicas(hour)); err != nil {
				return errors.Join(err, watching.Terminate(time.Minute))
			}
		}
		if err := pauseUntil(ctx, start.Add(s.day*time.Duration(i+1)/steps)); err != nil {
			return errors.Join(err, watching.Terminate(time.Minute))
		}
	}
	if err := watching.Terminate(time.Minute); err != nil {
		return fmt.Errorf("karpenter shadow: %w\n%s", err, report.String())
	}
	_, err = s.out.Write(report.Bytes())
	return err
}

func (x service) deployment() *appsv1.Deployment {
	d := &appsv1.Deployment{}
	d.Name, d.Namespace = x.name, metav1.NamespaceDefault
	labels := map[string]string{"app": x.name}
	pod := pendingPod(x.name, x.cpu)
	pod.Spec.Containers[0].Resources = requests(x.cpu, x.memory)
	none := int32(0)
	d.Spec.Replicas, d.Spec.Selector = &none, &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod.Spec}
	return d
}

// scale sets the replicas of a Deployment.
func (p *plane) scale(ctx context.Context, name string, replicas int32) error {
	d := &appsv1.Deployment{}
	if err := p.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: name}, d); err != nil {
		return fmt.Errorf("reading Deployment %s: %w", name, err)
	}
	if *d.Spec.Replicas == replicas {
		return nil
	}
	stored := d.DeepCopy()
	d.Spec.Replicas = &replicas
	if err := p.Patch(ctx, d, client.MergeFrom(stored)); err != nil {
		return fmt.Errorf("scaling Deployment %s: %w", name, err)
	}
	return nil
}

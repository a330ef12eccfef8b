package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// phaseLimit is how long a phase may take before the demo gives up: a fixed part and a part for each pod, far above what is usual.
func phaseLimit(pods int) time.Duration {
	return 2*time.Minute + time.Duration(pods)*200*time.Millisecond
}

// figures are what the demo reports at the end.
type figures struct {
	catalog    string
	pods       int
	nodes      int
	pricePerH  float64
	cluster    time.Duration
	controller time.Duration
	running    time.Duration
	podsGone   time.Duration
	nodesGone  time.Duration
	total      time.Duration
}

func (f figures) String() string {
	return fmt.Sprintf("%d pods on %d nodes, $%.4f/h (%s) · cluster %.1f s, controller %.1f s, pods running %.1f s, pods gone %.1f s, nodes gone %.1f s · %.1f s in all",
		f.pods, f.nodes, f.pricePerH, f.catalog, f.cluster.Seconds(), f.controller.Seconds(), f.running.Seconds(), f.podsGone.Seconds(),
		f.nodesGone.Seconds(), f.total.Seconds())
}

// demonstrate runs the whole loop once.
func demonstrate(ctx context.Context, s settings, out io.Writer) (err error) {
	start := time.Now()
	log, err := openLog(s.log)
	if err != nil {
		return err
	}
	defer func() {
		_ = log.Close()
		// Neither success nor a Ctrl-C needs an explanation.
		if explain := err != nil && ctx.Err() == nil; explain {
			err = fmt.Errorf("%w\nthe controller's whole log is in %s", err, log.Name())
		} else if s.log == "" {
			_ = os.Remove(log.Name())
		}
	}()
	show := newProgress(out, start)
	f := figures{catalog: s.catalog, pods: s.pods}
	st, err := startStack(ctx, s, log, func(step string, took time.Duration) {
		show.line(step)
		if f.cluster == 0 {
			f.cluster = took
		} else {
			f.controller = took
		}
	})
	if err != nil {
		return err
	}
	if err := st.loop(s, show, &f); err != nil {
		show.end()
		if ctx.Err() == nil {
			asking, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			err = fmt.Errorf("%w\n%s", err, strings.TrimSpace(diagnose(asking, st)))
		}
		return errors.Join(err, st.end())
	}
	if err := st.end(); err != nil {
		return err
	}
	f.total = time.Since(start)
	show.line("cluster and controller ended")
	_, err = fmt.Fprintf(out, "\n%s\n", f)
	return err
}

// openLog opens the file of the controller's log, a new temporary one if path is "".
func openLog(path string) (*os.File, error) {
	open := func() (*os.File, error) { return os.Create(path) }
	if path == "" {
		open = func() (*os.File, error) { return os.CreateTemp("", "karpenter-demo-*.log") }
	}
	log, err := open()
	if err != nil {
		return nil, fmt.Errorf("opening the controller's log file: %w", err)
	}
	return log, nil
}

// loop scales up and down again and measures each phase.
func (st *stack) loop(s settings, show *progress, f *figures) error {
	if err := st.pool(s); err != nil {
		return err
	}
	show.line("NodePool ready")
	for _, phase := range []struct {
		replicas int
		what     string
		took     *time.Duration
		done     func(counts) bool
	}{
		{s.pods, fmt.Sprintf("%d pods running", s.pods), &f.running, func(c counts) bool { return c.running == s.pods && c.pending == 0 }},
		{0, "pods gone", &f.podsGone, func(c counts) bool { return c.running+c.pending == 0 }},
		{0, "nodes gone", &f.nodesGone, func(c counts) bool { return c.nodes+c.claims == 0 }},
	} {
		start := time.Now()
		if err := st.scale(s, phase.replicas); err != nil {
			return err
		}
		err := poll(st.ctx, phaseLimit(s.pods), phase.what, func() (bool, error) {
			now, err := st.count()
			if err != nil {
				return false, err
			}
			show.counts(now)
			if now.nodes > f.nodes || phase.replicas > 0 {
				f.nodes, f.pricePerH = max(f.nodes, now.nodes), max(f.pricePerH, now.pricePerH)
			}
			return phase.done(now), nil
		})
		if err != nil {
			return err
		}
		*phase.took = time.Since(start)
		show.line(phase.what)
	}
	return nil
}

// pool applies the NodePool and waits until the controller has found it in order.
func (st *stack) pool(s settings) error {
	if err := apply(st.ctx, st.client, s.manifests, "nodepool.yaml", nil); err != nil {
		return err
	}
	var pool v1.NodePool
	err := poll(st.ctx, 30*time.Second, "NodePool default to be Ready", func() (bool, error) {
		err := st.client.Get(st.ctx, client.ObjectKey{Name: "default"}, &pool)
		return meta.IsStatusConditionTrue(pool.Status.Conditions, v1.ConditionTypeReady), err
	})
	if err != nil {
		return fmt.Errorf("%w; its conditions: %s", err, conditions(pool.Status.Conditions))
	}
	return nil
}

// scale applies the Deployment with this many replicas.
func (st *stack) scale(s settings, replicas int) error {
	return apply(st.ctx, st.client, s.manifests, "inflate.yaml", func(object *unstructured.Unstructured) error {
		return unstructured.SetNestedField(object.Object, int64(replicas), "spec", "replicas")
	})
}

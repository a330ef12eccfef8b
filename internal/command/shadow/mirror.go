package shadow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	corev1alpha1 "github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/embedded/controlplane"
	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/demo"
	"github.com/karpenter-anew/karpenter/internal/shadow"
)

// mirrorClass is the node class of all nodes of the mirror.
const mirrorClass = "shadow"

// adoption is how long a pod that is gone may be replaced by another one without having left the mirror.
const adoption = 15 * time.Second

// mirrorCluster is the cluster in memory.
type mirrorCluster struct {
	*controlplane.ControlPlane
	dir    string
	config *rest.Config
	client client.Client
}

func (m *mirrorCluster) kubeconfig() string { return filepath.Join(m.dir, "kubeconfig") }

// prepare installs the CRDs and the node class.
func (m *mirrorCluster) prepare(ctx context.Context, b command.Binary) error {
	text, err := m.Kubeconfig()
	if err != nil {
		return err
	}
	if err := os.WriteFile(m.kubeconfig(), text, 0o600); err != nil {
		return fmt.Errorf("writing the kubeconfig of the mirror: %w", err)
	}
	if m.config, err = loadKubeconfig(text); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	for _, add := range append(b.Providers.Schemes(), clientgoscheme.AddToScheme, v1.AddToScheme, corev1alpha1.AddToScheme, v1alpha1.AddToScheme) {
		if err := add(scheme); err != nil {
			return err
		}
	}
	installer, err := demo.NewClient(m.kubeconfig())
	if err != nil {
		return err
	}
	definitions, err := kwokcrds.Definitions()
	if err != nil {
		return err
	}
	if err := demo.InstallCRDs(ctx, installer, definitions); err != nil {
		return err
	}
	if m.client, err = client.New(m.config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("building the client of the mirror: %w", err)
	}
	class := &v1alpha1.KWOKNodeClass{}
	class.Name, class.Spec.NodeRegistrationDelay = mirrorClass, &metav1.Duration{Duration: shadow.AssumedLaunch}
	return m.client.Create(ctx, class)
}

func (*mirrorCluster) settings() shadow.Settings {
	return shadow.Settings{
		ProviderID: func(node string) string { return "kwok://" + node },
		NodeClass:  v1.NodeClassReference{Group: v1alpha1.SchemeGroupVersion.Group, Kind: "KWOKNodeClass", Name: mirrorClass},
		Adoption:   adoption,
	}
}

// launch sets how long simulated nodes take to join.
func (m *mirrorCluster) launch(ctx context.Context, took time.Duration) error {
	class := &v1alpha1.KWOKNodeClass{}
	if err := m.client.Get(ctx, client.ObjectKey{Name: mirrorClass}, class); err != nil {
		return err
	}
	class.Spec.NodeRegistrationDelay = &metav1.Duration{Duration: took}
	return m.client.Update(ctx, class)
}

// control starts the controller in the mirror. It returns when the controller acts; the channel gets its result.
func (c *Command) control(ctx context.Context, cancel context.CancelCauseFunc, m *mirrorCluster) (<-chan error, error) {
	// Other metrics than those of this process are on no port that a user would expect.
	args := []string{
		"--cloud-provider=kwok", "--instance-types-file-path=" + filepath.Join(m.dir, "instance-types.json"), "--kubeconfig=" + m.kubeconfig(),
		"--disable-leader-election", "--metrics-port=0", "--health-probe-port=0",
	}
	args = append(append(args, c.Cluster.Settings.ControllerFlags()...), c.Flags...)
	run, err := c.simulation.Controller(args)
	if err != nil {
		return nil, err
	}
	log, done := io.Discard, func() error { return nil }
	if c.Log != "" {
		file, err := os.Create(c.Log)
		if err != nil {
			return nil, fmt.Errorf("opening the log of the controller: %w", err)
		}
		log, done = file, file.Close
	}
	ended, ready := make(chan error, 1), demo.NewReadyLine(log)
	go func() {
		err := errors.Join(run(ctx, ready), done())
		ended <- err
		if err == nil {
			err = errors.New("the controller ended by itself")
		}
		cancel(err)
	}()
	select {
	case <-ready.Seen():
		return ended, nil
	case <-ctx.Done():
		return nil, errors.Join(fmt.Errorf("starting the controller: %w", context.Cause(ctx)), <-ended)
	}
}

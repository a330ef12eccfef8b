package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-anew/karpenter/test/controlplane"
	"github.com/karpenter-anew/karpenter/test/logcapture"
)

// clusterPool is what all tests share: the built binary, and a few clusters, each used by one test at a time.
type clusterPool struct {
	// binary is the path of the built program, dir a directory for the files of all tests.
	binary, dir string
	// free holds the clusters that no test uses. A cluster that does not run yet is started by the test that acquires it.
	free chan *testCluster
	all  []*testCluster
}

// shared is the one pool of clusters. The first call creates it.
var shared = sync.OnceValues(build)

// clusters is how many tests run at a time, each in a cluster, unless -parallel says otherwise. They mostly wait: with one for each of two
// processors, these are idle for 85 % of the time; with more than four, tests wait for each other.
const clusters = 4

// runParallel sets how many tests run at a time, unless it was set.
func runParallel(n int) {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == parallelFlag })
	if given {
		return
	}
	if err := flag.Set(parallelFlag, strconv.Itoa(n)); err != nil {
		panic(err) // the name of the flag is wrong
	}
}

const parallelFlag = "test.parallel"

func TestMain(m *testing.M) {
	flag.Parse()
	runParallel(clusters)
	ctrllog.SetLogger(logr.Discard())
	code := m.Run()
	if s, err := shared(); err == nil {
		if err := s.checkLogs(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		if err := s.close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// build builds the binary and creates as many clusters as tests run at a time.
func build() (*clusterPool, error) {
	if os.Getenv(controlplane.LauncherEnv) == "" || os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return nil, fmt.Errorf("%s and KUBEBUILDER_ASSETS must be set: run \"make test\", or eval \"$(bin/local env)\" first", controlplane.LauncherEnv)
	}
	parallel, err := strconv.Atoi(flag.Lookup(parallelFlag).Value.String())
	if err != nil {
		return nil, err
	}
	s := &clusterPool{free: make(chan *testCluster, parallel)}
	if s.dir, err = os.MkdirTemp("", "karpenter-e2e-"); err != nil {
		return nil, err
	}
	s.binary = filepath.Join(s.dir, "karpenter")
	if text, err := exec.Command("go", "build", "-o", s.binary, "github.com/karpenter-anew/karpenter/cmd/karpenter").CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("building the binary: %w\n%s", err, text), s.close())
	}
	for range parallel {
		l := &testCluster{clusterPool: s}
		s.all = append(s.all, l)
		s.free <- l
	}
	return s, nil
}

// shownProblems bounds the report of checkLogs.
const shownProblems = 20

// checkLogs checks the log fields of all controllers that have run.
func (s *clusterPool) checkLogs() error {
	logs, err := filepath.Glob(filepath.Join(s.dir, "controller-*.log"))
	if err != nil {
		return err
	}
	var fields logcapture.Fields
	var problems []string
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		problems = append(problems, fields.Check(text)...)
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("%d problems with log lines; the first ones:\n%s", len(problems), strings.Join(problems[:min(len(problems), shownProblems)], "\n"))
}

// acquire returns a cluster that no other test uses until it is returned.
func (s *clusterPool) acquire(ctx context.Context) (*testCluster, error) {
	select {
	case l := <-s.free:
		if err := l.open(ctx); err != nil {
			s.free <- l
			return nil, err
		}
		return l, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// close ends the clusters and removes all files.
func (s *clusterPool) close() error {
	var errs []error
	for _, l := range s.all {
		errs = append(errs, l.close())
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

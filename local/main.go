// Command local builds and runs a real Kubernetes control plane on loopback, with simulated nodes, for the demo and the tests.
//
//	local build                 build every program into the cache (once per version)
//	local up                    run a cluster until Ctrl-C; prints KUBECONFIG=<path> when it is ready
//	local restart-apiserver     take the API server of a running cluster down and up again
//	local sweep                 remove the clusters of launchers that were killed
//	local pack                  write an archive of the built programs, for computers that do not compile them
//	local env                   print the environment that tests need, for `eval`
package main

import (
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/karpenter-anew/karpenter/local/binaries"
	"github.com/karpenter-anew/karpenter/local/launch"
)

//go:embed go.mod
var goMod []byte

//go:embed go.sum
var goSum []byte

// releases has the modules of the Kubernetes versions before the one of go.mod. They are not called go.mod, which would make the folder a
// module that cannot be embedded.
//
//go:embed releases
var releases embed.FS

// versionEnv is the minor version of Kubernetes, such as 1.34; the newest if it is empty.
const versionEnv = "LOCAL_KUBERNETES"

const usage = `usage: local <command> [flags]

commands:
  build               build the control plane into the cache; instant when it is there
  up                  run a cluster until Ctrl-C or SIGTERM; prints KUBECONFIG=<path> when it is ready
      --workdir DIR           the cluster's directory: new or empty, removed at the end (default: a temporary one)
      --kubeconfig-out FILE   where the kubeconfig goes (default: DIR/kubeconfig)
      --until-stdin-closes    also end when standard input is closed
      --service-range CIDR    addresses of services, such as fd00:10::/108 for IPv6 (default: that of Kubernetes)
      --feature-gates GATES   feature gates of all components, such as GenericWorkload=true
      --runtime-config APIS   APIs that the API server serves beside the usual ones, such as scheduling.k8s.io/v1beta1=true
      --admission NAMES       admission plugins beside the usual ones, such as OwnerReferencesPermissionEnforcement
      --controllers NAMES     controllers of kube-controller-manager (default: *), such as *,-taint-eviction-controller
  restart-apiserver   take the API server of a running cluster down and up again
      --workdir DIR           which cluster (default: the only one that runs)
      --down DURATION         how long it stays down (default 0s)
  sweep               remove what launchers that were killed left behind
  env                 print the environment that tests need, for eval "$(local env)"
  pack                write an archive of the built programs, and print its SHA-256 and name as sha256sum does
      --dir DIR               where the archive goes (default: the current directory)

KARPENTER_LOCAL_CACHE overrides the cache directory (default: $XDG_CACHE_HOME/karpenter-anew or ~/.cache/karpenter-anew).
LOCAL_KUBERNETES is the minor version of Kubernetes: 1.33, 1.34, 1.35, 1.36, or 1.37 (default).
LOCAL_BINARIES is a directory or URL with such an archive, which is used instead of compiling. Its SHA-256 must be in
binaries/archives.sum or in LOCAL_BINARIES_SHA256.
`

// errUsage is a command line that makes no sense; the usage text is printed with it.
var errUsage = errors.New("bad usage")

func main() {
	// A reader that closes the pipe must not kill the launcher before it has removed its cluster.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	if err == nil {
		return
	}
	_, _ = fmt.Fprintf(os.Stderr, "local: %v\n", err)
	if errors.Is(err, errUsage) {
		_, _ = io.WriteString(os.Stderr, usage)
		os.Exit(2)
	}
	os.Exit(1)
}

func run(ctx context.Context, args []string, in io.Reader, out, log io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("%w: no command", errUsage)
	}
	modules, err := modules()
	if err != nil {
		return err
	}
	cache, err := binaries.NewCache(modules)
	if err != nil {
		return err
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	switch args[0] {
	case "build":
		return build(ctx, cache, flags, args[1:], out, log)
	case "up":
		return up(ctx, cache, flags, args[1:], in, out, log)
	case "restart-apiserver":
		return restart(ctx, cache, flags, args[1:], log)
	case "sweep":
		if err := parse(flags, args[1:]); err != nil {
			return err
		}
		return launch.Sweep(cache, log)
	case "env":
		return env(cache, flags, args[1:], out)
	case "pack":
		return pack(cache, flags, args[1:], out)
	case "help", "-h", "--help":
		_, err := io.WriteString(out, usage)
		return err
	}
	return fmt.Errorf("%w: unknown command %q", errUsage, args[0])
}

// modules are those of the Kubernetes version that the environment selects.
func modules() (binaries.Modules, error) {
	folder, err := fs.Sub(releases, "releases")
	if err != nil {
		return binaries.Modules{}, err
	}
	out, err := binaries.Select(os.Getenv(versionEnv), binaries.Module{GoMod: goMod, GoSum: goSum}, folder)
	if err != nil {
		return binaries.Modules{}, fmt.Errorf("%s: %w", versionEnv, err)
	}
	return out, nil
}

func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%w: unexpected argument %q", errUsage, flags.Arg(0))
	}
	return nil
}

func build(ctx context.Context, cache binaries.Cache, flags *flag.FlagSet, args []string, out, log io.Writer) error {
	if err := parse(flags, args); err != nil {
		return err
	}
	if err := ensure(ctx, cache, log); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, cache.Bin())
	return err
}

func ensure(ctx context.Context, cache binaries.Cache, log io.Writer) error {
	modules, err := modules()
	if err != nil {
		return err
	}
	return binaries.Ensure(ctx, cache, modules, log)
}

func up(ctx context.Context, cache binaries.Cache, flags *flag.FlagSet, args []string, in io.Reader, out, log io.Writer) error {
	options := launch.Options{Cache: cache, Log: log}
	flags.StringVar(&options.Dir, "workdir", "", "")
	flags.StringVar(&options.Kubeconfig, "kubeconfig-out", "", "")
	flags.StringVar(&options.ServiceRange, "service-range", "", "")
	flags.StringVar(&options.Admission, "admission", "", "")
	flags.StringVar(&options.Controllers, "controllers", "", "")
	flags.StringVar(&options.FeatureGates, "feature-gates", "", "")
	flags.StringVar(&options.RuntimeConfig, "runtime-config", "", "")
	untilClosed := flags.Bool("until-stdin-closes", false, "")
	if err := parse(flags, args); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if *untilClosed {
		go func() {
			_, _ = io.Copy(io.Discard, in)
			cancel()
		}()
	}
	if err := ensure(ctx, cache, log); err != nil {
		return err
	}
	start := time.Now()
	return launch.Run(ctx, options, func(kubeconfig string) {
		_, _ = fmt.Fprintf(log, "control plane: ready in %.1f s\n", time.Since(start).Seconds())
		_, _ = fmt.Fprintf(out, "KUBECONFIG=%s\n", kubeconfig)
	})
}

func restart(ctx context.Context, cache binaries.Cache, flags *flag.FlagSet, args []string, log io.Writer) error {
	dir := flags.String("workdir", "", "")
	down := flags.Duration("down", 0, "")
	if err := parse(flags, args); err != nil {
		return err
	}
	return launch.RestartAPIServer(ctx, cache, *dir, *down, log)
}

// pack writes the archive of the programs, which appears under its name only when it is complete.
func pack(cache binaries.Cache, flags *flag.FlagSet, args []string, out io.Writer) error {
	dir := flags.String("dir", ".", "")
	if err := parse(flags, args); err != nil {
		return err
	}
	name := cache.Versions.ArchiveName()
	file, err := os.CreateTemp(*dir, ".pack-")
	if err != nil {
		return fmt.Errorf("creating the archive: %w", err)
	}
	defer func() { _ = os.Remove(file.Name()) }()
	hash := sha256.New()
	if err := errors.Join(binaries.Pack(cache, io.MultiWriter(file, hash)), file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), filepath.Join(*dir, name)); err != nil {
		return fmt.Errorf("putting the archive in its place: %w", err)
	}
	_, err = fmt.Fprintf(out, "%x  %s\n", hash.Sum(nil), name)
	return err
}

func env(cache binaries.Cache, flags *flag.FlagSet, args []string, out io.Writer) error {
	if err := parse(flags, args); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	_, err = fmt.Fprintf(out, "export KUBEBUILDER_ASSETS=%q\nexport KARPENTER_LOCAL_BIN=%q\n", cache.Bin(), self)
	return err
}

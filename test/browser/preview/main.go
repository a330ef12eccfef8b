// Command preview serves the page of the console with a generated fleet, for work on the page:
//
//	go run -C test/browser ./preview
//
// With -files, the page is read from a folder for each request, so that a change shows when the page is loaded again.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/karpenter-anew/karpenter/test/browser/fixture"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "address to serve on")
	nodes := flag.Int("nodes", 400, "number of nodes")
	pods := flag.Int("pods", 8000, "number of pods")
	files := flag.String("files", "", "folder of the page; the embedded one by default")
	flag.Parse()
	handler := fixture.Handler(fixture.New(*nodes, *pods))
	if *files != "" {
		mux := http.NewServeMux()
		mux.Handle("/api/", handler)
		mux.Handle("/", http.FileServer(http.Dir(*files)))
		handler = mux
	}
	server := &http.Server{Addr: *listen, Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	fmt.Printf("http://%s/\n", *listen)
	if err := server.ListenAndServe(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

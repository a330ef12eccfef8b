// Package screen draws the views of a cluster in a terminal: nodes with what fills them, pending pods, disruption commands, cost and NodePools.
//
// Model is what is shown, as a value: Update returns the next one for a key, a size or a document, and Frame is a pure function of it. Run shows
// it in a terminal; Print writes one frame as text, or the documents. Text alone says everything, so that nothing is lost without colors;
// it is ASCII but for what names and messages of the cluster contain.
package screen

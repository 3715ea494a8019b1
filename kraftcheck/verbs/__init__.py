"""What each verb is given: its arguments and options, in groups of verbs that belong together.

options    what verbs of several groups share, as decorators
models     all states, not runs: `spec`, `cover`, `prove`
runs       runs of the reference: `simulate`, `conform`, `replay`, `shrink`, `report`, `verify`
campaigns  many runs judged by everything: `campaign`
histories  what clients saw: `check`, `convert`
clusters   a real Apache Kafka: `cluster`, `record`, `disk`
bugs       known bugs, and a change of one's own: `bugs`, `try`

A verb imports what does its work when it is called, not before: `--help` loads every module of this
package, and must not load Spark, Arrow or Z3.
"""

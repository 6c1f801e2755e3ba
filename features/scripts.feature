Feature: Scripts of skills run as written, and only when the host says so
  Without a runner a script is a text. With one, the whole skill is put into a private folder, the script runs in a
  working folder of its own, and nothing of it is left, however it ends.

  Background:
    Given the file "skills/weigh/SKILL.md"
      """
      ---
      name: weigh
      description: Weighs things.
      ---
      Run scripts/main.py THING or scripts/main.sh THING.
      """
    And the file "skills/weigh/scripts/helper.py"
      """
      UNIT = 'g'
      """
    And the file "skills/weigh/references/scale.txt"
      """
      kitchen
      """
    And the file "skills/weigh/scripts/main.py"
      """
      import pathlib, sys
      import helper
      here = pathlib.Path(__file__).resolve().parent
      print(helper.UNIT, (here.parent / 'references/scale.txt').read_text().strip(), sys.argv[1:])
      pathlib.Path('left.txt').write_text('done')
      """
    And the file "skills/weigh/scripts/main.sh"
      """
      #!/usr/bin/env bash
      echo "shell $# $1"
      """
    And the file "skills/weigh/scripts/slow.py"
      """
      import subprocess, sys, time
      subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=True)
      print('begun', flush=True)
      time.sleep(60)
      """
    And the file "skills/weigh/scripts/fail.py"
      """
      import sys
      print('partial')
      sys.exit('why')
      """

  @S2-44
  Scenario: Nothing runs unless the host passes a runner
    Given a router over "skills" without a runner
    When the script "scripts/main.py" of "weigh" is run with "a"
    Then it is refused as a ScriptNotAllowedError
    And the message mentions "Scripts are text here"
    And a model has no tool "run_skill_script"
    And a model reads "scripts/main.py" of "weigh" as text that holds "import helper"

  @S2-44
  Scenario: With a runner there is one tool, and it takes a list of arguments
    Given a router over "skills" with a local runner
    Then a model has the tool "run_skill_script" with the arguments "name, path, args, stdin"
    And a model that runs "scripts/main.py" of "weigh" with "x y" is told "g kitchen ['x y']"

  @S2-45
  Scenario: The runner that fences nothing in says so
    Given a router over "skills" with a local runner
    Then the runner calls itself "local (not a sandbox)"
    And the runner does not guarantee "fs_read"
    And the runner does not guarantee "network"

  @S2-46
  Scenario Outline: A script finds its siblings, its references and its arguments, whatever place it came from
    Given a router over "skills" as <place> with a local runner
    When the script "scripts/main.py" of "weigh" is run with "$(id)"
    Then it printed "g kitchen ['$(id)']"
    And it left "left.txt"
    And nothing of the run is left on disk

    Examples:
      | place     |
      | a folder  |
      | a mapping |
      | a zip     |

  @S2-46
  Scenario: Nothing is left when a script fails
    Given a router over "skills" with a local runner
    When the script "scripts/fail.py" of "weigh" is run with ""
    Then it ended with exit code 1
    And it printed "partial"
    And nothing of the run is left on disk

  @S2-46
  Scenario: Nothing is left when a script takes too long
    Given a router over "skills" with a local runner that waits 1 second
    When the script "scripts/slow.py" of "weigh" is run with ""
    Then it was ended because of "timeout"
    And it printed "begun"
    And nothing of the run is left on disk
    And no process of the run is left

  @S2-47
  Scenario Outline: Python and shell scripts run the same way
    Given a router over "skills" with a local runner
    When the script "<script>" of "weigh" is run with "one two"
    Then it printed "<output>"

    Examples:
      | script          | output                  |
      | scripts/main.py | g kitchen ['one two']   |
      | scripts/main.sh | shell 1 one two         |

  Scenario: A policy can keep one script from running, and the model is told the rule
    Given a router over "skills" with a local runner and the rule "deny" for "scripts/main.*"
    When the script "scripts/main.sh" of "weigh" is run with ""
    Then it is refused as a ScriptNotAllowedError
    And the message mentions "deny (path 'scripts/main.*')"

  Scenario: What a script cannot do without is known before it runs
    Given the file "skills/weigh/scripts/chart.py"
      """
      import nowhere_to_be_found
      """
    And a router over "skills" with a local runner
    When the scripts of "weigh" are looked at
    Then "scripts/chart.py" must die for want of "nowhere_to_be_found"
    And a model that loads "weigh" is told that "scripts/chart.py" cannot run

Feature: Skills in agents of LangChain and of LlamaIndex
  The same skills, the same catalog, the same tools and the same answers, whatever the framework. What counts is what
  the model was sent.

  Background:
    Given a skill "mail-sorter" in "skills" with the body
      """
      # Steps

      1. Read `references/rules.md`.
      2. Move every message to the folder its rule names.
      """
    And the file "skills/mail-sorter/references/rules.md" of the text "Receipts go to Money.\n"
    And a skill "pdf-forms" in "skills" that says "Fills PDF forms."
    And a router over "skills"

  @S2-40
  Scenario Outline: Names and descriptions are always in the prompt, instructions only after activation (<framework>)
    When a <framework> agent works with a model that
      | calls               | with                                                   |
      | load_skill          | {"name": "mail-sorter"}                                |
      | read_skill_resource | {"name": "mail-sorter", "path": "references/rules.md"} |
      | answer              | Sorted.                                                |
    Then the agent answers "Sorted."
    And every request begins with the agent's own prompt and the whole catalog, the same bytes each time
    And the tools are, with the names of the skills to choose from
      | tool                | required  |
      | load_skill          | name      |
      | read_skill_resource | name path |
    And nothing before request 2 holds "Move every message"
    And request 2 holds "Move every message"
    And nothing before request 3 holds "Receipts go to Money."
    And request 3 holds "Receipts go to Money."
    And result 1 is the text of activating "mail-sorter"
    And no result was an error

    Examples:
      | framework   |
      | langchain   |
      | llama-index |

  Scenario: Both frameworks send the same bytes
    When agents of both frameworks work with a model that
      | calls               | with                                                   |
      | load_skill          | {"name": "mail-sorter"}                                |
      | load_skill          | {"name": "mail-sortr"}                                 |
      | load_skill          | {"name": "pdf-forms", "arguments": "form 7"}           |
      | read_skill_resource | {"name": "mail-sorter", "path": "references/rules.md"} |
      | read_skill_resource | {"name": "mail-sorter", "path": "../../etc/passwd"}    |
      | answer              | Done.                                                  |
    Then both models were sent the same bytes

  @S3-63
  Scenario Outline: load_skill gives the instructions, not the frontmatter (<framework>)
    When a <framework> agent works with a model that calls load_skill with {"name": "mail-sorter"}
    Then result 1 holds "1. Read `references/rules.md`."
    And result 1 does not hold "description:"
    And result 1 does not hold "Does mail-sorter."

    Examples:
      | framework   |
      | langchain   |
      | llama-index |

  @S2-50
  Scenario Outline: Without skills an agent and its prompt are unchanged (<framework>)
    Given a router without skills
    When a <framework> agent works with a model that
      | calls  | with |
      | answer | done |
    And a <framework> agent without skillbelt is asked the same
    Then its requests are those of an agent without skillbelt

    Examples:
      | framework   |
      | langchain   |
      | llama-index |

  @S2-42
  Scenario Outline: An agent reads bundled files that exist in memory only (<framework>)
    Given these skills in memory
      | path                 | content                                                       |
      | tea/SKILL.md         | ---\nname: tea\ndescription: Makes tea.\n---\nSee the guide.\n |
      | tea/guide/leaves.md  | Three minutes for green tea.\n                                |
    And a router over these skills in memory
    When a <framework> agent works with a model that
      | calls               | with                                          |
      | load_skill          | {"name": "tea"}                               |
      | read_skill_resource | {"name": "tea", "path": "guide/leaves.md"}    |
      | answer              | Enjoy.                                        |
    Then result 1 holds "<file>guide/leaves.md</file>"
    And result 1 holds "The skill is not on disk"
    And result 2 holds "Three minutes for green tea."

    Examples:
      | framework   |
      | langchain   |
      | llama-index |

  @S2-44
  Scenario Outline: A script comes back as text and is not run (<framework>)
    Given a script "skills/mail-sorter/scripts/sort.py" that leaves a trace when it runs
    When a <framework> agent works with a model that
      | calls               | with                                               |
      | load_skill          | {"name": "mail-sorter"}                            |
      | read_skill_resource | {"name": "mail-sorter", "path": "scripts/sort.py"} |
      | answer              | Read.                                              |
    Then result 2 holds ".write('ran')"
    And nothing ran
    And the tools are, with the names of the skills to choose from
      | tool                | required  |
      | load_skill          | name      |
      | read_skill_resource | name path |

    Examples:
      | framework   |
      | langchain   |
      | llama-index |

  @S3-61 @S3-69
  Scenario Outline: What a model does wrong is told to it as an error: <tool> <arguments> (<framework>)
    When a <framework> agent works with a model that calls <tool> with <arguments>
    Then the model is told of an error that says "<told>"

    Examples: langchain
      | framework | tool                | arguments                                               | told                         |
      | langchain | load_skill          | {"name": "mail-sortr"}                                  | Did you mean 'mail-sorter'?  |
      | langchain | load_skill          | {"name": ""}                                            | must not be empty            |
      | langchain | load_skill          | {}                                                      | It takes: name               |
      | langchain | load_skill          | {"name": "mail-sorter", "op": "x"}                      | op                           |
      | langchain | read_skill_resource | {"name": "mail-sorter", "path": "references/rule.md"}   | references/rules.md          |
      | langchain | read_skill_resource | {"name": "mail-sorter", "path": "../pdf-forms/SKILL.md"} | not a path inside the skill |
      | langchain | read_skill_resource | {"name": "mail-sorter", "path": "references"}           | is a folder                  |
      | langchain | read_skill_resource | {"name": "mail-sorter"}                                 | It takes: name, path         |

    Examples: llama-index
      | framework   | tool                | arguments                                               | told                         |
      | llama-index | load_skill          | {"name": "mail-sortr"}                                  | Did you mean 'mail-sorter'?  |
      | llama-index | load_skill          | {"name": ""}                                            | must not be empty            |
      | llama-index | load_skill          | {}                                                      | It takes: name               |
      | llama-index | load_skill          | {"name": "mail-sorter", "op": "x"}                      | op                           |
      | llama-index | read_skill_resource | {"name": "mail-sorter", "path": "references/rule.md"}   | references/rules.md          |
      | llama-index | read_skill_resource | {"name": "mail-sorter", "path": "../pdf-forms/SKILL.md"} | not a path inside the skill |
      | llama-index | read_skill_resource | {"name": "mail-sorter", "path": "references"}           | is a folder                  |
      | llama-index | read_skill_resource | {"name": "mail-sorter"}                                 | It takes: name, path         |

  @S3-69
  Scenario Outline: A broken skill is told with its reason and without a path of the host (<framework>)
    Given a SKILL.md without a description in "skills/broken"
    When a <framework> agent works with a model that calls load_skill with {"name": "broken"}
    Then the model is told of an error that says "description is missing or empty"

    Examples:
      | framework   |
      | langchain   |
      | llama-index |

  @S3-69
  Scenario Outline: A failing disk is nothing a model can mend: it raises to the host (<framework>)
    Given the catalog of "skills" is known to a router
    And "skills/mail-sorter/SKILL.md" may not be read by this user
    When the <framework> tool load_skill is called with {"name": "mail-sorter"}
    Then it is refused as a SourceError
    And the message mentions "Permission denied"

    Examples:
      | framework   |
      | langchain   |
      | llama-index |

  @S3-47
  Scenario Outline: Cancelling wins over whatever the disk does later (<framework>)
    Given a router over "skills" on a disk that takes its time and then fails
    When a <framework> task that loads "pdf-forms" is cancelled while it waits for the disk
    Then the task is cancelled at once, with its cause, and gives no answer

    Examples:
      | framework   |
      | langchain   |
      | llama-index |

  @S3-48
  Scenario Outline: A task that was cancelled before it began touches nothing (<framework>)
    Given a router over "skills" on a disk that takes its time and then fails
    When a <framework> task that loads "pdf-forms" is cancelled before it begins
    Then the task is cancelled at once, with its cause, and gives no answer
    And nothing was asked of the disk

    Examples:
      | framework   |
      | langchain   |
      | llama-index |
